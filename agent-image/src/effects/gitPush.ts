import { line, quote } from '../base/text.ts';
import type { EffectPlan, Probe, Way } from './types.ts';

/** Flags of `git push` that change nothing about which refs are written. */
const harmless = new Set(
  '-u --set-upstream -f --force -q --quiet -v --verbose --progress --no-progress --no-verify --verify --porcelain --thin --no-thin --atomic --no-atomic'.split(
    ' ',
  ),
);

/** Refs that fit into one command line. */
const maxRefs = 200;

interface Push {
  /** Name or address; null: only git knows. */
  readonly remote: string | null;
  /** Names of refs in the remote; null: only git knows. */
  readonly refs: readonly string[] | null;
}

/** Lists full names of refs that a refspec may write: a short name is a branch or a tag; the change shows which. Null: only git knows. */
function written(refspec: string): readonly string[] | null {
  const [source = '', target = source] = refspec.replace(/^\+/, '').split(':');
  const name = target === '' ? source : target;
  if (name.startsWith('refs/')) return [name];
  if (name === '' || name === 'HEAD' || name === '@' || name.includes('*')) return null;
  return [`refs/heads/${name}`, `refs/tags/${name}`];
}

/** Parses the refs that the words after `push` write to; undefined when the words do not show it. */
function parse(words: readonly string[]): Push | undefined {
  const named: string[] = [];
  let deletes = false;
  for (const word of words) {
    if (word === '-d' || word === '--delete') deletes = true;
    else if (word.startsWith('--force-with-lease')) continue;
    else if (word.startsWith('-')) {
      if (!harmless.has(word)) return undefined;
    } else named.push(word);
  }
  const [remote = null, ...refspecs] = named;
  if (refspecs.length === 0) return deletes ? undefined : { remote, refs: null };
  // `tag NAME` is a refspec of two words.
  if (refspecs.includes('tag')) return undefined;
  const refs = refspecs.map(written);
  return refs.every((names) => names !== null) ? { remote, refs: refs.flat() } : undefined;
}

/** `git [-C folder] push …`; undefined for any other command. */
export function gitPush(argv: readonly string[]): EffectPlan | undefined {
  const [program = '', ...rest] = argv;
  if (program.split('/').at(-1) !== 'git') return undefined;
  const inFolder = rest[0] === '-C' ? rest.slice(0, 2) : [];
  const [verb, ...words] = rest.slice(inFolder.length);
  if (verb !== 'push') return undefined;
  const git = ['git', ...inFolder];
  const push = parse(words);
  const target = `git push ${words.join(' ')}`.trim();
  return {
    kind: 'GitPush',
    target,
    look: async (probe) => {
      if (push === undefined) return () => Promise.resolve({ why: 'which refs it wrote cannot be known from its words' });
      const branch = await currentBranch(probe, git);
      const leads = await destination(probe, git, words);
      const refs = [...new Set([...(push.refs ?? []), ...(leads?.refs ?? (push.refs === null && branch !== null ? [branch] : []))])];
      if (refs.length === 0) return () => Promise.resolve({ why: 'no branch is checked out, so which ref it wrote cannot be known' });
      if (refs.length > maxRefs)
        return () => Promise.resolve({ why: `it may write ${refs.length} refs, and ${maxRefs} are asked at most` });
      const remote = push.remote ?? (await pushRemote(probe, git, branch));
      const at: Place = { git, remote, refs, address: await addressOf(probe, git, remote) };
      const before = await idsOf(probe, at, refs);
      return async (after, ok) => {
        if (before === undefined) return { why: `the remote ${remote} did not say what it held before` };
        const known = [leads, await destination(after, git, words)].filter((one) => one !== undefined);
        const why = known.length === 0 && ok ? 'git does not say where it went' : elsewhere(known, at);
        return why === null ? wayBack(after, at, before) : { why };
      };
    },
  };
}

async function currentBranch(probe: Probe, git: readonly string[]): Promise<string | null> {
  const { exitCode, stdout } = await probe([...git, 'symbolic-ref', '--quiet', 'HEAD']);
  return exitCode === 0 ? stdout.trim() : null;
}

/** The remote that a push without one goes to. */
async function pushRemote(probe: Probe, git: readonly string[], branch: string | null): Promise<string> {
  if (branch === null) return 'origin';
  const { stdout } = await probe([...git, 'for-each-ref', '--format=%(push:remotename)', branch]);
  return stdout.trim() === '' ? 'origin' : stdout.trim();
}

interface Destination {
  /** Addresses, without users and passwords. */
  readonly addresses: readonly string[];
  readonly refs: readonly string[];
}

/** Flags that hide what a dry run lists, or run hooks of the repository. */
const unasked = new Set(['-q', '--quiet', '--verify']);

/** Asks git where these words lead: configuration may give remote, addresses and refs, whatever the words are. */
async function destination(probe: Probe, git: readonly string[], words: readonly string[]): Promise<Destination | undefined> {
  const { stdout } = await probe([
    ...git,
    'push',
    '--dry-run',
    '--porcelain',
    '--no-verify',
    ...words.filter((word) => !unasked.has(word)),
  ]);
  const lines = stdout.split('\n');
  const addresses = lines.flatMap((row) => (row.startsWith('To ') ? [bare(row.slice(3))] : []));
  const refs = lines.flatMap((row) => /^[ +\-*=!]\t[^\t]*:([^\t:]+)\t/.exec(row)?.[1] ?? []);
  return addresses.length === 0 || refs.length === 0 ? undefined : { addresses, refs };
}

/** An address without user and password, as git prints it. */
function bare(address: string): string {
  return address.replace(/^([\w+.-]+:\/\/)?[^/]*@/, '$1');
}

/** Remote and refs that are asked about for a push. */
interface Place {
  readonly git: readonly string[];
  readonly remote: string;
  readonly refs: readonly string[];
  /** The address that is asked, without user and password. */
  readonly address: string | undefined;
}

/**
 * The address that pushes to a remote go to, as words of a shell: it may hold a password, which gets into no log. An address
 * in place of a name stays as it is.
 */
function addressed(git: readonly string[], remote: string): string {
  return `"$(${line([...git, 'remote', 'get-url', '--push', remote])} 2>/dev/null || printf %s ${quote(remote)})"`;
}

async function addressOf(probe: Probe, git: readonly string[], remote: string): Promise<string | undefined> {
  const { exitCode, stdout } = await probe(['/bin/sh', '-c', `${line(git)} ls-remote --get-url ${addressed(git, remote)}`]);
  return exitCode === 0 ? bare(stdout.trim()) : undefined;
}

/** Returns the reason why the refs that were asked are not all that a push may have written; null: they are. */
function elsewhere(known: readonly Destination[], { address, refs }: Place): string | null {
  for (const { addresses, refs: written } of known) {
    if (addresses.length > 1 || addresses[0] !== address) return `it went to ${addresses.join(' and ')}, which was not asked`;
    const other = written.find((ref) => !refs.includes(ref));
    if (other !== undefined) return `it may have written ${other}, which was not asked before`;
  }
  return null;
}

function asking({ git, remote }: Place, refs: readonly string[]): string {
  return `${line(git)} ls-remote ${addressed(git, remote)} ${line(refs)}`;
}

/** Ids of refs in the remote, null for one that it lacks; undefined when it does not answer. */
async function idsOf(probe: Probe, at: Place, refs: readonly string[]): Promise<ReadonlyMap<string, string | null> | undefined> {
  const { exitCode, stdout } = await probe(['/bin/sh', '-c', asking(at, refs)]);
  if (exitCode !== 0) return undefined;
  const listed = new Map(
    stdout.split('\n').flatMap((row) => {
      const [id, name] = row.split('\t');
      return id === undefined || name === undefined || !/^[0-9a-f]{40,64}$/.test(id) ? [] : [[name, id] as const];
    }),
  );
  return new Map(refs.map((ref) => [ref, listed.get(ref) ?? null]));
}

async function wayBack(probe: Probe, at: Place, before: ReadonlyMap<string, string | null>): Promise<Way | null> {
  const { git, remote, refs } = at;
  const after = await idsOf(probe, at, refs);
  if (after === undefined) return { why: `the remote ${remote} does not say what it holds now` };
  const changed = refs.filter((ref) => after.get(ref) !== before.get(ref)).sort();
  if (changed.length === 0) return null;
  const specs: string[] = [];
  for (const ref of changed) {
    const old = before.get(ref) ?? null;
    if (old !== null && (await probe([...git, 'cat-file', '-e', old])).exitCode !== 0)
      return { why: `${ref} was at ${old}, which this clone does not have` };
    specs.push(`${old ?? ''}:${ref}`);
  }
  // The lease protects later pushes of others: the command then changes nothing at all.
  const leases = changed.map((ref) => `--force-with-lease=${ref}:${after.get(ref) ?? ''}`);
  // git lists them by name. No pipe: a remote that does not answer must not look like one without the ref.
  const expected = changed.flatMap((ref) => (before.get(ref) == null ? [] : [`${before.get(ref) ?? ''}\t${ref}`]));
  return {
    command: line([...git, 'push', '--no-verify', '--atomic', ...leases, remote, ...specs]),
    proof: { command: asking(at, changed), expected: expected.join('\n') },
  };
}
