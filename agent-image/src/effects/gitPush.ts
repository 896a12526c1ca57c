import { line } from './quote.ts';
import type { EffectPlan, Probe, Way } from './types.ts';

/** Flags of `git push` that change nothing about which refs are written. */
const harmless = new Set([
  '-u',
  '--set-upstream',
  '-f',
  '--force',
  '-q',
  '--quiet',
  '-v',
  '--verbose',
  '--progress',
  '--no-progress',
  '--no-verify',
  '--verify',
  '--porcelain',
  '--thin',
  '--no-thin',
  '--atomic',
  '--no-atomic',
]);

interface Push {
  readonly remote: string;
  /** Names of refs in the remote; null: only git knows. */
  readonly refs: readonly string[] | null;
}

/** Full names of the refs that a refspec may write: a short name is a branch or a tag, and what did not change tells. Null: only git knows. */
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
  const [remote = 'origin', ...refspecs] = named;
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
      const refs = push.refs ?? (await currentBranch(probe, git));
      if (refs === null) return () => Promise.resolve({ why: 'no branch is checked out, so which ref it wrote cannot be known' });
      const before = await idsOf(probe, git, push.remote, refs);
      return (after) => wayBack(after, { git, remote: push.remote, refs, before });
    },
  };
}

async function currentBranch(probe: Probe, git: readonly string[]): Promise<readonly string[] | null> {
  const { exitCode, stdout } = await probe([...git, 'symbolic-ref', '--quiet', 'HEAD']);
  return exitCode === 0 ? [stdout.trim()] : null;
}

/** Ids of refs in the remote, null for one that it lacks; undefined when it does not answer. */
async function idsOf(
  probe: Probe,
  git: readonly string[],
  remote: string,
  refs: readonly string[],
): Promise<ReadonlyMap<string, string | null> | undefined> {
  const { exitCode, stdout } = await probe([...git, 'ls-remote', remote, ...refs]);
  if (exitCode !== 0) return undefined;
  const listed = new Map(
    stdout.split('\n').flatMap((row) => {
      const [id, name] = row.split('\t');
      return id === undefined || name === undefined || !/^[0-9a-f]{40,64}$/.test(id) ? [] : [[name, id] as const];
    }),
  );
  return new Map(refs.map((ref) => [ref, listed.get(ref) ?? null]));
}

interface Written {
  readonly git: readonly string[];
  readonly remote: string;
  readonly refs: readonly string[];
  readonly before: ReadonlyMap<string, string | null> | undefined;
}

async function wayBack(probe: Probe, { git, remote, refs, before }: Written): Promise<Way | null> {
  if (before === undefined) return { why: `the remote ${remote} did not say what it held before` };
  const after = await idsOf(probe, git, remote, refs);
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
    proof: { command: line([...git, 'ls-remote', remote, ...changed]), expected: expected.join('\n') },
  };
}
