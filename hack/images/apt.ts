// hack, images: Debian mirrors by the apt sources of this machine. Of other folders imports hack/cache, hack/cluster/build.
import { existsSync } from 'node:fs';
import { readFile, readdir } from 'node:fs/promises';
import { join } from 'node:path';

/** One `deb` line or stanza of the machine's apt sources. */
interface AptSource {
  readonly uris: readonly string[];
  readonly suites: readonly string[];
}

/** Sources of the images' packages: the archive, and its security updates when known. */
export interface Mirrors {
  readonly archive: string;
  readonly security?: string;
}

/** Parses a `.sources` file (deb822, sources.list(5)): enabled stanzas of type `deb` only. */
export function parseSourcesFile(text: string): readonly AptSource[] {
  const stanzas = text.split(/\n[ \t]*(?:\n[ \t]*)+/).map(parseStanza);
  return stanzas.flatMap((fields) => {
    const words = (name: string): readonly string[] => (fields.get(name) ?? '').split(/\s+/).filter((word) => word !== '');
    if (!words('types').includes('deb') || fields.get('enabled')?.toLowerCase() === 'no') return [];
    return [{ uris: words('uris'), suites: words('suites') }];
  });
}

function parseStanza(stanza: string): ReadonlyMap<string, string> {
  const fields = new Map<string, string>();
  let last = '';
  for (const line of stanza.split('\n').filter((entry) => !entry.startsWith('#'))) {
    const match = /^([A-Za-z0-9-]+):(.*)$/.exec(line);
    if (match) last = (match[1] ?? '').toLowerCase();
    const value = match ? (match[2] ?? '') : line;
    if (last !== '') fields.set(last, `${fields.get(last) ?? ''} ${value.trim()}`.trim());
  }
  return fields;
}

/** Parses a `sources.list` file: one `deb [options] uri suite components…` per line. */
export function parseSourcesList(text: string): readonly AptSource[] {
  return text.split('\n').flatMap((line) => {
    const match = /^\s*deb\s+(?:\[[^\]]*\]\s+)?(\S+)\s+(\S+)/.exec(line);
    return match ? [{ uris: [match[1] ?? ''], suites: [match[2] ?? ''] }] : [];
  });
}

/**
 * Chooses the mirrors. `override` (from `AGENTFLEET_DEBIAN_MIRROR`) replaces the archive; the
 * security archive is always the machine's, and is left out when the machine names none.
 * Throws when there is no override and no source looks like a Debian archive.
 */
export function chooseMirrors(sources: readonly AptSource[], override?: string): Mirrors {
  const usable = sources.map((source) => ({ ...source, uri: source.uris.find((uri) => /^https?:\/\//.test(uri)) }));
  const isSecurity = (source: AptSource): boolean => source.suites.some((suite) => /[-/]/.test(suite) && /security/.test(suite));
  const security = usable.find((source) => isSecurity(source) && /debian-security\/?$/.test(source.uri ?? ''))?.uri;
  const archive = override ?? usable.find((source) => !isSecurity(source) && /\/debian\/?$/.test(source.uri ?? ''))?.uri;
  if (archive === undefined) {
    throw new Error('No Debian mirror in the apt sources of this machine: set AGENTFLEET_DEBIAN_MIRROR to the URI of one.');
  }
  return security === undefined ? { archive } : { archive, security };
}

/** Reads the apt sources of this machine and chooses the mirrors from them. */
export async function readMirrors(): Promise<Mirrors> {
  const etc = '/etc/apt';
  const folder = join(etc, 'sources.list.d');
  const names = existsSync(folder) ? (await readdir(folder)).sort() : [];
  const files = [join(etc, 'sources.list'), ...names.map((name) => join(folder, name))].filter((file) => existsSync(file));
  const sources: AptSource[] = [];
  for (const file of files) {
    if (file.endsWith('.sources')) sources.push(...parseSourcesFile(await readFile(file, 'utf8')));
    else if (file.endsWith('.list')) sources.push(...parseSourcesList(await readFile(file, 'utf8')));
  }
  return chooseMirrors(sources, debianMirrorOverride(process.env));
}

/** `AGENTFLEET_DEBIAN_MIRROR`, when set and not empty. */
export function debianMirrorOverride(env: NodeJS.ProcessEnv): string | undefined {
  return env['AGENTFLEET_DEBIAN_MIRROR'] || undefined;
}

/** The sources that mmdebstrap gets, for one release of Debian. `keyring` signs both archives. */
export function renderSources(mirrors: Mirrors, release: string, keyring: string): string {
  const stanza = (uri: string, suites: string): string =>
    `Types: deb\nURIs: ${uri}\nSuites: ${suites}\nComponents: main\nSigned-By: ${keyring}\n`;
  const stanzas = [stanza(mirrors.archive, `${release} ${release}-updates`)];
  if (mirrors.security !== undefined) stanzas.push(stanza(mirrors.security, `${release}-security`));
  return stanzas.join('\n');
}
