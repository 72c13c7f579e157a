// Asks the server at the address for IDs, in gRPC, gRPC-Web and Connect, and prints them. What the
// service is like comes from proto/image.binpb, so that nothing has to be generated.
import { readFileSync } from "node:fs";
import { createFileRegistry, fromBinary } from "@bufbuild/protobuf";
import { FileDescriptorSetSchema } from "@bufbuild/protobuf/wkt";
import { createClient } from "@connectrpc/connect";
import { createConnectTransport, createGrpcTransport, createGrpcWebTransport } from "@connectrpc/connect-node";

const [baseUrl, image] = process.argv.slice(2);
const files = createFileRegistry(fromBinary(FileDescriptorSetSchema, readFileSync(image)));
const service = files.getService("unalike.v1.IDService");

for (const transport of [
  createGrpcTransport({ baseUrl }),
  createGrpcWebTransport({ baseUrl, httpVersion: "2" }),
  createConnectTransport({ baseUrl, httpVersion: "1.1" }),
  createConnectTransport({ baseUrl, httpVersion: "2" }),
]) {
  const { runs } = await createClient(service, transport).generate({ generator: "orders", count: 5 });
  for (const { first, count } of runs) {
    for (let i = 0n; i < BigInt(count); i++) console.log(String(first + i));
  }
}
process.exit(0); // connections of HTTP/2 would keep it for a while
