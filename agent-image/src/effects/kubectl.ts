import { line, quote } from '../base/text.ts';
import { kubectlWords, type KubectlWords } from '../rails/index.ts';
import type { EffectPlan, Probe, Way } from './types.ts';

/** Longest command that takes objects back; it holds them as they were. */
const longest = 32_768;
const verbs = new Set(['apply', 'create', 'replace', 'delete']);

/** Kinds whose deletion takes more with it than the object itself. */
const holders: ReadonlySet<string> = new Set(['Namespace', 'CustomResourceDefinition', 'PersistentVolumeClaim', 'PersistentVolume']);

/** The parts of an object that matter here. */
interface Found {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: Readonly<Record<string, unknown>> & {
    readonly name: string;
    readonly namespace?: string;
    readonly uid: string;
    readonly resourceVersion: string;
  };
  readonly status?: unknown;
}

/** `kubectl … (apply|create|replace|delete) -f FILE`; undefined for any other command. */
export function kubectl(argv: readonly string[]): EffectPlan | undefined {
  const [program = '', verb = '', ...words] = argv;
  if (program.split('/').at(-1) !== 'kubectl' || !verbs.has(verb)) return undefined;
  const target = `kubectl ${verb} ${words.join(' ')}`;
  const found = kubectlWords(words);
  const isKnown = found !== null && found.files.length > 0 && found.names.length === 0 && found.output === undefined;
  // What was read from a pipe is gone.
  const parsed = isKnown && ![...found.files, ...found.where].includes('-') ? found : undefined;
  return {
    kind: 'KubectlApply',
    target,
    look: async (probe) => {
      if (parsed === undefined) return () => Promise.resolve({ why: 'which objects it changed cannot be known from its words' });
      const before = await objects(probe, parsed);
      return async (after) => {
        const now = before === undefined ? undefined : await objects(after, parsed);
        return before === undefined || now === undefined
          ? { why: 'the API server did not say what was there' }
          : wayBack(parsed, before, now);
      };
    },
  };
}

const keyOf = ({ apiVersion, kind, metadata }: Found): string => `${apiVersion} ${kind} ${metadata.namespace ?? ''} ${metadata.name}`;

async function objects(probe: Probe, { where, files }: KubectlWords): Promise<ReadonlyMap<string, Found> | undefined> {
  const { exitCode, stdout } = await probe(['kubectl', 'get', ...where, ...files, '--ignore-not-found', '-o', 'json']);
  if (exitCode !== 0) return undefined;
  if (stdout.trim() === '') return new Map();
  const said = JSON.parse(stdout) as Found & { readonly items?: readonly Found[] };
  return new Map((said.items ?? [said]).map((found) => [keyOf(found), found]));
}

/** Returns the earlier object without the fields that only the server may set. */
function asItWas({ apiVersion, kind, metadata, ...rest }: Found, resourceVersion?: string): object {
  const { status: _s, ...said } = rest;
  const { managedFields: _m, uid: _u, resourceVersion: _r, creationTimestamp: _c, generation: _g, selfLink: _l, ...kept } = metadata;
  return { apiVersion, kind, metadata: { ...kept, ...(resourceVersion === undefined ? {} : { resourceVersion }) }, ...said };
}

/** Lists the words that name the server; the namespace of each object is in the object. */
function serverOf(where: readonly string[]): readonly string[] {
  const namespaced = /^(?:-n|--namespace)(?:=|$)/;
  return where.filter((word, at) => !namespaced.test(word) && !/^(?:-n|--namespace)$/.test(where[at - 1] ?? ''));
}

function named(found: Found, where: readonly string[]): readonly string[] {
  const group = found.apiVersion.includes('/') ? `.${found.apiVersion.replace('/', '.').split('.').slice(0, -1).join('.')}` : '';
  const version = found.apiVersion.split('/').at(-1) ?? '';
  const kind = group === '' ? found.kind : `${found.kind}.${version}${group}`;
  return [
    ...serverOf(where),
    ...(found.metadata.namespace === undefined ? [] : ['-n', found.metadata.namespace]),
    kind,
    found.metadata.name,
  ];
}

function wayBack({ where }: KubectlWords, before: ReadonlyMap<string, Found>, now: ReadonlyMap<string, Found>): Way | null {
  const commands: string[] = [];
  const proofs: string[] = [];
  const server = serverOf(where);
  // The event log must not hold such content, because many may read it.
  const secret = [...before.values()].find(
    (old) => old.kind === 'Secret' && !(now.get(keyOf(old))?.metadata.resourceVersion === old.metadata.resourceVersion),
  );
  if (secret !== undefined) return { why: `Secret ${secret.metadata.name} as it was is not kept` };
  const holder = [...before].find(([key, { kind }]) => holders.has(kind) && !now.has(key))?.[1];
  if (holder !== undefined) return { why: `what ${holder.kind} ${holder.metadata.name} held is gone with it` };
  const put = (verb: string, object: object): string =>
    `printf %s ${quote(JSON.stringify(object))} | ${line(['kubectl', verb, ...server, '-f', '-'])}`;
  for (const [key, found] of now) {
    const old = before.get(key);
    const name = named(found, where);
    if (old === undefined) {
      // Only the object that the act created.
      const uid = `$(${line(['kubectl', 'get', ...name, '--ignore-not-found', '-o', 'jsonpath={.metadata.uid}'])})`;
      commands.push(`{ test "${uid}" = ${quote(found.metadata.uid)} && ${line(['kubectl', 'delete', ...name])}; }`);
      proofs.push(line(['kubectl', 'get', ...name, '--ignore-not-found', '-o', 'name']));
    } else if (old.metadata.resourceVersion !== found.metadata.resourceVersion) {
      // The server refuses when another client has written since.
      commands.push(put('replace', asItWas(old, found.metadata.resourceVersion)));
      proofs.push(put('diff', asItWas(old)));
    }
  }
  for (const [key, old] of before) {
    if (now.has(key)) continue;
    commands.push(put('create', asItWas(old)));
    proofs.push(put('diff', asItWas(old)));
  }
  if (commands.length === 0) return null;
  const command = commands.join(' && ');
  if (command.length > longest) return { why: `the objects as they were are too large to be kept (${command.length} characters)` };
  return { command, proof: { command: proofs.join(' && '), expected: '' } };
}
