import { describe, expect, test } from 'vitest';
import { explain, scrub } from './failures.ts';

const fault = (words: string) => ({
  step: 'fetch',
  url: 'https://git.example.com/a',
  words,
  timedOut: false,
  missing: false,
  secrets: ['s3cret'],
});

describe('words of the proxy before git', () => {
  const request = { host: 'git.corp', port: 443, bytesOut: 0, bytesIn: 0 };
  const ofProxy = "fatal: unable to access 'https://git.corp/': CONNECT tunnel failed, response 502";

  test.each([
    ['getaddrinfo ENOTFOUND git.corp', 'HostNotResolved'],
    ['getaddrinfo EAI_AGAIN git.corp', 'HostNotResolved'],
    ['connect ECONNREFUSED 1.2.3.4:443', 'RemoteUnreachable'],
    ['connect EHOSTUNREACH 1.2.3.4:443', 'RemoteUnreachable'],
    ['nobody answered in time', 'RemoteUnreachable'],
    ['the proxy of the worker answered 403', 'RemoteUnreachable'],
  ])('%s → %s, in place of the message of git', (why, reason) => {
    const failure = explain({ ...fault(ofProxy), fault: { ...request, decision: 'Unreachable', why } });
    expect(failure).toMatchObject({ failureClass: 'Infrastructure', reason });
    expect(failure.message).toContain(why);
    expect(failure.message).not.toContain('CONNECT');
  });

  test('for a forbidden address no output of git is reported', () => {
    const failure = explain({ ...fault(ofProxy), fault: { ...request, decision: 'Forbidden', why: 'git.corp:443 may not be reached' } });
    expect(failure).toMatchObject({ failureClass: 'InvalidInput', reason: 'HostNotAllowed' });
    expect(failure.message).toBe('https://git.example.com/a: git.corp:443 may not be reached');
  });
});

describe('words of git', () => {
  test.each([
    ["fatal: unable to access 'https://x/': SSL certificate problem: unable to get local issuer certificate", 'TLSFailed'],
    ["fatal: unable to access 'https://x/': server certificate verification failed. CAfile: none CRLfile: none", 'TLSFailed'],
    ["fatal: unable to access 'https://x/': gnutls_handshake() failed: Handshake failed", 'TLSFailed'],
    [
      "fatal: unable to access 'https://x/': server verification failed: certificate signer not trusted. (CAfile: /etc/ssl/certs/ca.crt CRLfile: none)",
      'TLSFailed',
    ],
    ["fatal: unable to access 'https://x/': SSL certificate verification failed: certificate signer not found.", 'TLSFailed'],
    ["fatal: unable to access 'https://x/': SSL certificate OpenSSL verify result: self-signed certificate (18)", 'TLSFailed'],
    ['error: RPC failed; curl 56 GnuTLS recv error (-110): The TLS connection was non-properly terminated.', 'ConnectionLost'],
    ['error: RPC failed; curl 92 HTTP/2 stream 0 was not closed cleanly', 'ConnectionLost'],
    ["fatal: unable to access 'https://x/': Could not resolve host: x", 'HostNotResolved'],
    ["fatal: unable to access 'https://x/': Failed to connect to x port 443 after 3 ms: Couldn't connect to server", 'RemoteUnreachable'],
    [
      "fatal: unable to access 'https://x/': Operation too slow. Less than 1000 bytes/sec transferred the last 30 seconds",
      'ConnectionLost',
    ],
    ['fatal: write error: No space left on device', 'ScratchFull'],
    [
      'error: RPC failed; curl 28 Operation too slow. Less than 1000 bytes/sec transferred\nfatal: protocol error: bad pack header',
      'ConnectionLost',
    ],
    ['fetch-pack: unexpected disconnect\nfatal: early EOF\nfatal: fetch-pack: invalid index-pack output', 'ConnectionLost'],
    ['fatal: write error: No space left on device\nfatal: fetch-pack: invalid index-pack output', 'ScratchFull'],
    ['fatal: fetch-pack: invalid index-pack output', 'GitFailed'],
    ['fatal: something nobody has seen yet', 'GitFailed'],
  ])('%s → %s: another try may do', (words, reason) => {
    expect(explain(fault(words))).toMatchObject({ failureClass: 'Infrastructure', reason });
  });

  test('progress, warnings and control characters are left out; errors and messages of the server are kept', () => {
    const words = 'warning: x\nremote: you are \u001b[31mbanned\u0007\nfatal: unable to access: The requested URL returned error: 403\n';
    const { message } = explain(fault(words));
    expect(message).toContain('remote: you are [31mbanned | fatal: unable to access');
    expect(message).not.toContain('warning');
  });

  test('a long answer is cut', () => {
    expect(explain(fault(`fatal: ${'x'.repeat(10_000)}`)).message.length).toBeLessThan(700);
  });
});

test('users in addresses and known secrets are taken out', () => {
  expect(scrub('https://me:pw@host/a ssh://git@host/b s3cret', ['s3cret', ''])).toBe('https://host/a ssh://host/b ***');
  expect(explain(fault("fatal: Authentication failed for 'https://me:s3cret@host/'")).message).not.toContain('s3cret');
});
