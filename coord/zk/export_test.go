package zk

// TicketNumber is for tests outside of this package.
var TicketNumber = ticketNumber
