// Owns the refusal of HTTP/1.1 requests that node's parser lets pass or cannot read, in the words of Go's server. Answers nothing itself.
import type { IncomingMessage } from 'node:http';

/** A whole answer, after which the connection ends. */
export function plainRefusal(status: string, text = status, contentType = 'text/plain; charset=utf-8'): string {
  return `HTTP/1.1 ${status}\r\nContent-Type: ${contentType}\r\nConnection: close\r\n\r\n${text}`;
}

/** RFC 3986, section 3.2.2, as far as bytes go: no space, no control, nothing that ends a host. */
const hostBytes = /^[\w!$%&'()*+,\-.:;=[\]~]*$/;

/** Undefined: it may pass. */
export function refusalOf(message: IncomingMessage): string | undefined {
  const { httpVersionMajor, httpVersionMinor, headers, rawHeaders } = message;
  if (httpVersionMajor > 1) return plainRefusal('505 HTTP Version Not Supported: unsupported protocol version');
  if (httpVersionMajor < 1) return plainRefusal('400 Bad Request');
  const { host } = headers;
  // HTTP/1.0 is whole without one.
  if (host === undefined)
    return httpVersionMinor === 0 ? undefined : plainRefusal('400 Bad Request: missing required Host header');
  if (!hostBytes.test(host)) return plainRefusal('400 Bad Request: malformed Host header');
  let hosts = 0;
  for (let at = 0; at < rawHeaders.length; at += 2)
    if (rawHeaders[at]!.length === 4 && rawHeaders[at]!.toLowerCase() === 'host') hosts++;
  // Whoever stands before us may have believed the other one.
  return hosts > 1 ? plainRefusal('400 Bad Request') : undefined;
}

const statuses: Readonly<Record<string, string>> = {
  HPE_HEADER_OVERFLOW: '431 Request Header Fields Too Large',
  ERR_HTTP_REQUEST_TIMEOUT: '408 Request Timeout',
};

/** A request line of a method that node does not know, but HTTP allows (RFC 9110, section 9.1). */
const unknownMethod = /^[\w!#$%&'*+.^`|~-]+ \S+ HTTP\/1\.[01]\r?\n/;

/** What could not be parsed. `method`: the answer to a method that node does not know. */
export function unreadable(error: NodeJS.ErrnoException & { rawPacket?: Buffer }, method: string): string {
  const { code = '', rawPacket } = error;
  if (code === 'HPE_INVALID_METHOD' && rawPacket !== undefined)
    if (unknownMethod.test(rawPacket.subarray(0, 4096).toString('latin1'))) return method;
  return plainRefusal(statuses[code] ?? '400 Bad Request');
}
