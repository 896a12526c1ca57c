import type { GitSettings } from './settings.ts';

/**
 * Old commits of many honest repositories carry these flaws; none of them can act on a reader. Everything else that
 * `git fsck` calls an error refuses the repository.
 */
const harmless = [
  'badDate',
  'badDateOverflow',
  'badEmail',
  'badName',
  'badTagName',
  'badTimezone',
  'missingEmail',
  'missingNameBeforeEmail',
  'missingSpaceBeforeDate',
  'missingSpaceBeforeEmail',
  'missingTaggerEntry',
  'multipleAuthors',
  'zeroPaddedDate',
  'zeroPaddedFilemode',
];

/** Everything git reads comes from here: no file of the machine or its user, and no variable of the worker. */
const settled: Readonly<Record<string, string>> = {
  'core.askPass': '',
  'core.attributesFile': '/dev/null',
  // Larger ones are streamed to disk: a small pack can hold a file that inflates to gigabytes.
  'core.bigFileThreshold': '32m',
  'core.excludesFile': '/dev/null',
  'core.fsmonitor': 'false',
  'core.hooksPath': '/dev/null',
  'core.protectHFS': 'true',
  'core.protectNTFS': 'true',
  'credential.helper': '',
  'fetch.fsckObjects': 'true',
  'fetch.recurseSubmodules': 'false',
  // One pack whatever its size, so that what is sent on is a handful of files.
  'fetch.unpackLimit': '1',
  'fetch.writeCommitGraph': 'false',
  'gc.auto': '0',
  'http.followRedirects': 'initial',
  'http.lowSpeedLimit': '1000',
  'http.lowSpeedTime': '30',
  'init.templateDir': '',
  'maintenance.auto': 'false',
  'pack.threads': '2',
  'protocol.version': '2',
  'submodule.recurse': 'false',
  'transfer.bundleURI': 'false',
};

/** The whole environment of git; `credentials` is a file of `git credential-store`; see git(1), "ENVIRONMENT VARIABLES", and git-config(1). */
export function environmentOf({ scratch, proxy, authorities }: GitSettings, credentials: string | null): Readonly<Record<string, string>> {
  const config = new Map(Object.entries(settled));
  for (const name of harmless) config.set(`fetch.fsck.${name}`, 'ignore');
  config.set('http.proxy', proxy.url);
  if (authorities !== undefined) config.set('http.sslCAInfo', authorities);
  // A header would go along with a redirect to another host; the store is asked for each host.
  if (credentials !== null) config.set('credential.helper', `store --file='${credentials.replaceAll("'", String.raw`'\''`)}'`);
  const entries = [...config].map(([key, value], at): [string, string][] => [
    [`GIT_CONFIG_KEY_${at}`, key],
    [`GIT_CONFIG_VALUE_${at}`, value],
  ]);
  return {
    PATH: '/usr/local/bin:/usr/bin:/bin',
    HOME: scratch,
    TMPDIR: scratch,
    LC_ALL: 'C',
    GIT_CONFIG_NOSYSTEM: '1',
    GIT_CONFIG_GLOBAL: '/dev/null',
    GIT_ATTR_NOSYSTEM: '1',
    GIT_TERMINAL_PROMPT: '0',
    GIT_ASKPASS: '/bin/false',
    GIT_SSH_COMMAND: '/bin/false',
    GIT_ALLOW_PROTOCOL: 'https',
    GIT_PROTOCOL_FROM_USER: '0',
    GIT_OPTIONAL_LOCKS: '0',
    GIT_NO_REPLACE_OBJECTS: '1',
    GIT_CEILING_DIRECTORIES: scratch,
    // Not on the command line: everybody on the machine may read that.
    GIT_CONFIG_COUNT: String(config.size),
    ...Object.fromEntries(entries.flat()),
  };
}
