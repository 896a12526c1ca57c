import { describe, expect, test } from 'vitest';
import { BadRequest, headEnd, maxHeadBytes, parseHead } from './head.ts';

const head = (...lines: readonly string[]): Buffer => Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1');

describe('heads of requests', () => {
  test.each([
    ['CONNECT registry.example:443 HTTP/1.1', 'registry.example', 443],
    ['CONNECT Registry.Example.:8443 HTTP/1.0', 'registry.example', 8443],
    ['CONNECT [2001:db8::1]:443 HTTP/1.1', '2001:db8::1', 443],
  ])('%s', (line, host, port) => {
    expect(parseHead(head(line, 'Host: somewhere.else:443', 'Proxy-Connection: keep-alive'))).toEqual({ kind: 'Connect', host, port });
  });

  test('absolute form becomes a request of the server, one per connection, without headers of the proxy', () => {
    const request = parseHead(
      head('GET http://Files.Example:8080/a/b?c=d HTTP/1.1', 'Host: other.example', 'Proxy-Authorization: Basic eA==', 'Accept: */*', 'Connection: keep-alive'),
    );
    expect(request).toMatchObject({ kind: 'Forward', host: 'files.example', port: 8080 });
    expect(request.kind === 'Forward' && request.head.toString()).toBe(
      'GET /a/b?c=d HTTP/1.1\r\nHost: files.example:8080\r\nAccept: */*\r\nConnection: close\r\n\r\n',
    );
  }); // prettier-ignore

  test.each([
    ['no port', head('CONNECT a HTTP/1.1')],
    ['port 0', head('CONNECT a:0 HTTP/1.1')],
    ['port too large', head('CONNECT a:65536 HTTP/1.1')],
    ['a path in CONNECT', head('CONNECT a:443/x HTTP/1.1')],
    ['a user in CONNECT', head('CONNECT u@a:443 HTTP/1.1')],
    ['https in absolute form', head('GET https://a/ HTTP/1.1')],
    ['a user in the address', head('GET http://u:p@a/ HTTP/1.1')],
    ['HTTP/2', head('PRI * HTTP/2.0')],
    ['four words', head('CONNECT a:443 b HTTP/1.1')],
    ['a folded header', head('CONNECT a:443 HTTP/1.1', 'X: a', ' folded')],
    ['a line feed in a header', head('GET http://a/ HTTP/1.1', 'X: a\nHost: b')],
    ['a header without a name', head('CONNECT a:443 HTTP/1.1', ': a')],
  ])('refuses %s', (_name, bytes) => {
    expect(() => parseHead(bytes)).toThrow(BadRequest);
  });

  test('origin form is for the port itself, and so is absolute form with its address', () => {
    const own = head('POST /v1/messages HTTP/1.1', 'Host: 127.0.0.1:3128');
    expect(parseHead(own)).toEqual({ kind: 'Own', head: own });
    const absolute = parseHead(head('GET http://LOCALHOST:3128/v1/models HTTP/1.1', 'Accept: */*'));
    expect(absolute).toMatchObject({ kind: 'Own' });
    expect(absolute.kind === 'Own' && absolute.head.toString()).toContain('GET /v1/models HTTP/1.1\r\nHost: localhost:3128');
    expect(parseHead(head('GET http://127.0.0.1:8080/ HTTP/1.1'))).toMatchObject({ kind: 'Forward' });
  });

  test('a head has an end and a bound', () => {
    expect(headEnd(Buffer.from('CONNECT a:1 HTTP/1.1\r\n'))).toBeNull();
    expect(headEnd(Buffer.from('x\r\n\r\nrest'))).toBe(5);
    expect(() => headEnd(Buffer.alloc(maxHeadBytes + 1, 'x'))).toThrow(/over 16384 bytes/);
  });
});
