'use strict';

// The server sends the page's parts as text that is ready to be read; this puts it where it belongs, by textContent alone.
const $ = id => document.getElementById(id);
const svg = 'http://www.w3.org/2000/svg';
const patience = 5000; // milliseconds without a word from the server

const put = (node, text) => { if (node.textContent !== text) node.textContent = text; };
const classed = (node, name) => { if (node.className !== name) node.className = name; };
const element = (name, parent) => parent.appendChild(document.createElement(name));

// resize gives a node as many children as are needed.
function resize(node, count, add) {
  while (node.children.length > count) node.lastElementChild.remove();
  while (node.children.length < count) add(node);
}

function fillCell(td, cell) {
  classed(td, cell.c || '');
  put(td.lastElementChild, cell.t);
  let path = td.querySelector('path');
  if (!cell.d) {
    if (path) path.parentNode.remove();
    return;
  }
  if (!path) {
    const box = document.createElementNS(svg, 'svg');
    for (const [name, value] of [['viewBox', '0 0 60 12'], ['preserveAspectRatio', 'none'], ['aria-hidden', 'true']]) {
      box.setAttribute(name, value);
    }
    path = box.appendChild(document.createElementNS(svg, 'path'));
    td.prepend(box);
  }
  if (path.getAttribute('d') !== cell.d) path.setAttribute('d', cell.d);
}

function fillTable(table) {
  const section = $(table.id);
  if (!section) return location.reload(); // there is a part that was not there
  const names = [...section.querySelectorAll('th')].map(th => th.textContent);
  const body = section.querySelector('tbody');
  const rows = table.rows || [];
  resize(body, rows.length, node => element('tr', node));
  rows.forEach((row, r) => {
    const tr = body.children[r];
    resize(tr, row.length, node => {
      const td = element('td', node);
      td.dataset.name = names[node.children.length - 1];
      element('span', td);
    });
    row.forEach((cell, c) => fillCell(tr.children[c], cell));
  });
  put(section.querySelector('.note'), table.note);
  section.querySelector('.empty').hidden = rows.length > 0;
  if (table.id === 'workers') filter();
}

// filter hides the worker IDs that do not have the text in them.
function filter() {
  const text = $('filter').value.toLowerCase();
  for (const tr of document.querySelectorAll('#workers tbody tr')) {
    const out = text !== '' && ![...tr.children].some(td => td.textContent.toLowerCase().includes(text));
    if (tr.hidden !== out) tr.hidden = out;
  }
}

function say(says) {
  const box = $('says');
  resize(box, says.length, node => element('span', element('p', node)));
  says.forEach((s, i) => {
    const p = box.children[i];
    classed(p, s.level);
    put(p.firstElementChild, s.text);
    resize(p, s.detail ? 2 : 1, node => element('small', node));
    if (s.detail) put(p.lastElementChild, s.detail);
  });
  document.title = says[0].level + ' · unalike';
}

function fillHead(head) {
  if (head.build !== document.body.dataset.build) return location.reload(); // another program answers
  for (const name of ['build', 'up', 'clock']) put($(name), head[name]);
  say(head.says);
}

let source, heard, lost;

// hear notes that the server has sent something, and has f work with it.
const hear = f => event => {
  heard = Date.now();
  lost = false;
  document.body.classList.remove('stale');
  f(JSON.parse(event.data));
};

// lose says once that the figures are old.
function lose(text) {
  if (lost) return;
  lost = true;
  document.body.classList.add('stale');
  say([{level: 'down', text, detail: 'What is below is from before. This page goes on by itself when the server answers.'}]);
}

function connect() {
  if (source) source.close();
  heard = Date.now();
  source = new EventSource('/page/events');
  source.addEventListener('head', hear(fillHead));
  source.addEventListener('table', hear(fillTable));
  source.addEventListener('stopping', () => lose('The server has said that it is stopping.'));
  source.addEventListener('again', connect);
  source.addEventListener('error', () => lose('The server has not answered since ' + $('clock').textContent + '.'));
}

// A browser connects again by itself after most errors, but not after an answer that is none, nor where nobody answers.
setInterval(() => {
  if (Date.now() - heard < patience) return;
  lose('The server has not answered since ' + $('clock').textContent + '.');
  connect();
}, 1000);

$('filter').addEventListener('input', filter);
document.querySelector('#workers form').addEventListener('submit', event => event.preventDefault());
document.querySelector('#workers button').hidden = true;
filter();
connect();
