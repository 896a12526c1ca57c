import { expect, test } from 'vitest';
import { chooseMirrors, parseSourcesFile, parseSourcesList, renderSources } from './apt.ts';

const deb822 = `Types: deb
# a comment inside a stanza
URIs: http://mirror.example/debian
Suites: bookworm bookworm-updates
Components: main

Types: deb deb-src
URIs: http://mirror.example/debian-security
Suites: bookworm-security
Components: main

Enabled: no
Types: deb
URIs: http://off.example/debian
Suites: sid
`;

test('reads enabled stanzas and skips comments inside them', () => {
  expect(parseSourcesFile(deb822)).toEqual([
    { uris: ['http://mirror.example/debian'], suites: ['bookworm', 'bookworm-updates'] },
    { uris: ['http://mirror.example/debian-security'], suites: ['bookworm-security'] },
  ]);
});

test('reads a folded field of a stanza', () => {
  const text = 'Types: deb\nURIs:\n http://a.example/debian\n http://b.example/debian\nSuites: trixie\n';
  expect(parseSourcesFile(text)).toEqual([{ uris: ['http://a.example/debian', 'http://b.example/debian'], suites: ['trixie'] }]);
});

test('does not take a stanza of sources only', () => {
  expect(parseSourcesFile('Types: deb-src\nURIs: http://a.example/debian\nSuites: sid\n')).toEqual([]);
});

test('reads one-line sources with options and skips comments and deb-src', () => {
  const text =
    '# deb http://no.example/debian sid main\ndeb [arch=amd64 signed-by=/k.gpg] http://a.example/debian trixie main\ndeb-src http://a.example/debian trixie main\n';
  expect(parseSourcesList(text)).toEqual([{ uris: ['http://a.example/debian'], suites: ['trixie'] }]);
});

test('chooses the archive and its security updates', () => {
  expect(chooseMirrors(parseSourcesFile(deb822))).toEqual({
    archive: 'http://mirror.example/debian',
    security: 'http://mirror.example/debian-security',
  });
});

test('an override replaces the archive but not the security updates', () => {
  expect(chooseMirrors(parseSourcesFile(deb822), 'http://near.example/debian')).toEqual({
    archive: 'http://near.example/debian',
    security: 'http://mirror.example/debian-security',
  });
});

test('a machine of another distribution gets the hint to set the override', () => {
  const sources = parseSourcesList('deb http://a.example/ubuntu noble main\n');
  expect(() => chooseMirrors(sources)).toThrow(/AGENTFLEET_DEBIAN_MIRROR/);
  expect(chooseMirrors(sources, 'http://near.example/debian')).toEqual({ archive: 'http://near.example/debian' });
});

test('renders security updates only when there is a mirror for them', () => {
  const plain = renderSources({ archive: 'http://a.example/debian' }, 'trixie', '/k.gpg');
  expect(plain).toContain('Suites: trixie trixie-updates\n');
  expect(plain).not.toContain('security');
  const both = renderSources({ archive: 'http://a.example/debian', security: 'http://a.example/s' }, 'trixie', '/k.gpg');
  expect(parseSourcesFile(both).at(1)).toEqual({ uris: ['http://a.example/s'], suites: ['trixie-security'] });
});
