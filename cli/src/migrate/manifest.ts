// One file of manifests from the form of before to that of now: by edits of its text where these give what is meant, else written anew.
import { isDeepStrictEqual } from 'node:util';
import { loadManifest, loadManifests } from '@agentfleet/kube/manifests';
import { dump } from 'js-yaml';
import { migrateRollout } from './rollouts.ts';
import { added, commentsOf, emptied, type Path, placeOf, renamed, replaced } from './text.ts';

type Fields = Readonly<Record<string, unknown>>;

/** Result of the migration of a file. */
interface Migrated {
  readonly text: string;
  readonly changes: readonly string[];
  /** Fields that cannot be rewritten, each with its cure. With one of these the file stays as it is. */
  readonly refusals: readonly string[];
}

interface Edit {
  readonly path: Path;
  /** Undefined, and no `to`: removed. */
  readonly value?: unknown;
  /** The key of now; what it has stays. */
  readonly to?: string;
}

interface Plan {
  readonly edits: readonly Edit[];
  readonly more: readonly Fields[];
  readonly changes: readonly string[];
  readonly refusals: readonly string[];
}

const nothing: Plan = { edits: [], more: [], changes: [], refusals: [] };
const at = (value: unknown, path: Path): unknown => path.reduce<unknown>((found, key) => (found as Fields | undefined)?.[key], value);

/** Fields that had one value, that are constants now, or that nothing obeys any more: they go. `*` stands for each entry of a list. */
const gone: Readonly<Record<string, readonly string[]>> = {
  AgentTask: [
    'spec.budget.whenExceeded',
    'spec.policy.approvals.onTimeout',
    'spec.checks.*.maxBytes',
    'spec.attempts.backoff.factor',
    'spec.attempts.backoff.capSeconds',
    'spec.rollback.revertScript',
    'spec.tools.timeouts',
    'spec.tools.mcpServers.*.timeoutSeconds',
  ],
  ExpertPool: [
    'spec.placement.allowUnaccounted',
    'spec.placement.degradeTo',
    'spec.experts.*.artifact.format',
    'spec.experts.*.engine.vLLM.turnSeconds',
    'spec.profiles.*.compute.riskThreshold',
    'spec.profiles.*.compute.earlyExitMargin',
    'spec.policy.allowedPodLabels',
    'spec.policy.allowedPodAnnotations',
    'spec.policy.allowedNodeLabels',
    'spec.policy.allowedTolerations',
    'spec.policy.allowedPriorityClasses',
    'spec.sandbox.template.tolerations.*.tolerationSeconds',
    'spec.experts.*.engine.vLLM.drainSeconds',
    'spec.experts.*.engine.vLLM.sleepAfterSeconds',
    'spec.experts.*.engine.harness.install.timeoutSeconds',
    'spec.placement.dryRun',
    'spec.tools.timeouts.fetch',
    'spec.placement.canarySlot',
    'spec.experts.*.resources.memory.headroom',
    'spec.experts.*.artifact.tokenizerHash',
    'spec.experts.*.speculative.draft.tokenizerHash',
  ],
  EnergyModel: [
    'spec.artifact.format',
    'spec.calibration.method',
    'spec.calibration.minSamples',
    'spec.resources.withoutGpu',
    'spec.scoring',
    'spec.resources.canarySlot',
    'spec.resources.memory.headroom',
    'spec.resources.memory.kvTokens',
  ],
  RolloutPolicy: [
    'spec.onMissingData',
    'spec.stepTimeoutSeconds',
    'spec.rollback.cooldownSeconds',
    'spec.gates.*.failureLimit',
    'spec.gates.*.timeoutSeconds',
  ],
};

/** Keys with another name: where they were, the name, and what was there by default and has to be written now. */
const moved: Readonly<Record<string, readonly (readonly [string, string, Fields])[]>> = {
  ExpertPool: [
    ['spec.experts.*.engine.openAI', 'api', {}],
    ['spec.experts.*.engine.anthropic', 'api', { baseURL: 'https://api.anthropic.com' }],
  ],
};

const bytes = 'write an amount of bytes such as 5Gi';

/** Values that nothing stands in for. */
const refused: Readonly<Record<string, readonly (readonly [string, RegExp, string])[]>> = {
  AgentTask: [
    ['spec.workspace.git.url', /^ssh:/, 'write https://…, with a credential of the pool'],
    ...['nodeSelector', 'tolerations', 'priorityClassName', 'podMetadata'].map(
      (field) => [`spec.sandbox.${field}`, /^/, `write it in spec.sandbox.template.${field} of the pool`] as const,
    ),
  ],
  ExpertPool: [
    [
      'spec.policy.allowedRuntimeClasses',
      /^/,
      'write one of them in spec.sandbox.template.runtimeClassName, in a pool of its own for each',
    ],
    ['spec.placement.dryRun', /^true$/, 'write replicas: 0 for its experts until their engines may start, and remove dryRun'],
    ['spec.placement.mode', /^(Monopod|Env)$/, 'use Reservation, or a DRA driver'],
    ['spec.allowedNamespaces.selector.matchExpressions', /^/, 'label the namespaces and write matchLabels'],
    ['spec.experts.*.engine.vLLM.reasoningParser', /^/, 'write --reasoning-parser=NAME in engine.vLLM.extraArgs'],
    ['spec.experts.*.engine.vLLM.chatTemplate', /^/, 'write --chat-template=FILE in engine.vLLM.extraArgs'],
    ['spec.experts.*.residency', /^Swap$/, 'use Sleep with room for all that are awake at once, or smaller models'],
  ],
  RolloutPolicy: [['spec.strategy', /^Manual$/, 'write strategy Canary, and promotion.requireApproval: true beside it']],
  EnergyModel: [['spec.resources.memory.budget', /^Auto$/, bytes]],
};

/** Fields that had a default, and are required now where their mapping is. */
const required: Readonly<Record<string, readonly (readonly [string, string, string])[]>> = {
  EnergyModel: [['spec.resources.memory', 'budget', bytes]],
};

/** Paths of a pattern that the object has. */
function pathsOf(object: unknown, pattern: string): readonly Path[] {
  let paths: readonly Path[] = [[]];
  for (const part of pattern.split('.'))
    paths = paths.flatMap((path): readonly Path[] => {
      if (part !== '*') return [[...path, part]];
      const list = at(object, path);
      return Array.isArray(list) ? list.map((_, index) => [...path, index]) : [];
    });
  return paths.filter((path) => at(object, path) !== undefined);
}

const named = (path: Path): string =>
  path
    .map((key) => (typeof key === 'number' ? `[${key}]` : `.${key}`))
    .join('')
    .slice(1);

function rolloutPlan(object: Fields): Plan {
  const { kind, metadata, spec = {} } = object as { kind: string; metadata: Fields; spec?: Fields };
  const { name, namespace } = metadata as { name: string; namespace?: string };
  const rollout = spec['rollout'] as Fields | undefined;
  if (rollout === undefined || rollout === null) return nothing;
  const { policy, notes } = migrateRollout(rollout);
  const own = `${name}-${kind === 'ExpertPool' ? 'pool' : 'model'}`;
  return {
    edits: [{ path: ['spec', 'rollout'] }, { path: ['spec', 'rolloutPolicyRef'], value: { name: own } }],
    more: [
      {
        apiVersion: object['apiVersion'],
        kind: 'RolloutPolicy',
        metadata: { name: own, ...(namespace === undefined ? {} : { namespace }) },
        spec: policy,
      },
    ],
    changes: [`spec.rollout → RolloutPolicy ${own}, named in spec.rolloutPolicyRef`, ...notes],
    refusals: [],
  };
}

/** Keys that have another name, with what has to be beside them. */
function renames(object: Fields): Plan {
  const found = (moved[String(object['kind'])] ?? []).flatMap(([pattern, to, needed]) =>
    pathsOf(object, pattern).map((path) => ({ path, to, needed })),
  );
  return {
    ...nothing,
    edits: found.flatMap(({ path, to, needed }) => [
      { path, to },
      ...Object.entries(needed)
        .filter(([key]) => at(object, [...path, key]) === undefined)
        .map(([key, value]) => ({ path: [...path.slice(0, -1), to, key], value })),
    ]),
    changes: found.map(({ path, to }) => `${named(path)} → ${named([...path.slice(0, -1), to])}`),
  };
}

const printed = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value));

/** Plans the changes to one object. Pure. */
function planOf(before: Fields): Plan {
  const kind = String(before['kind']);
  const first = renames(before);
  const object = applied(before, first.edits);
  const removed = (gone[kind] ?? []).flatMap((pattern) => pathsOf(object, pattern));
  const bad = (refused[kind] ?? []).flatMap(([pattern, value, cure]) =>
    pathsOf(object, pattern)
      .filter((path) => value.test(String(at(object, path))))
      .map((path) => `${named(path)}: ${printed(at(object, path))} has no successor; ${cure}`),
  );
  const missing = (required[kind] ?? []).flatMap(([pattern, key, cure]) =>
    pathsOf(object, pattern)
      .filter((path) => at(object, [...path, key]) === undefined)
      .map((path) => `${named([...path, key])} is missing, and has no default any more; ${cure}`),
  );
  const rollout = kind === 'ExpertPool' || kind === 'EnergyModel' ? rolloutPlan(object) : nothing;
  return {
    edits: [...first.edits, ...removed.map((path) => ({ path })), ...rollout.edits],
    more: rollout.more,
    changes: [...first.changes, ...removed.map((path) => `${named(path)} is gone`), ...rollout.changes],
    refusals: [...bad, ...missing],
  };
}

/** The object after edits. */
function applied(object: Fields, edits: readonly Edit[]): Fields {
  // Values that aliases share are apart in the copy: each of their places is edited.
  const copy = JSON.parse(JSON.stringify(object)) as Record<string, unknown>;
  for (const { path, value, to } of edits) {
    let inner = copy;
    for (const key of path.slice(0, -1)) inner = (inner[key] ??= {}) as Record<string, unknown>;
    const last = String(path.at(-1));
    if (to !== undefined) inner[to] = inner[last];
    if (value === undefined) Reflect.deleteProperty(inner, last);
    else inner[last] = value;
  }
  return copy;
}

const flow = (value: unknown): string => dump(value, { flowLevel: 0, lineWidth: -1 }).trim();

/** Names come first, and what is added keeps a mapping that would be empty without it. */
const rank = ({ value, to }: Edit): number => {
  if (to !== undefined) return 0;
  return value === undefined ? 2 : 1;
};

function edited(lines: readonly string[], { path, value, to }: Edit): readonly string[] | undefined {
  if (to !== undefined) return renamed(lines, path, to);
  if (value === undefined) {
    const left = replaced(lines, path);
    return left === undefined ? undefined : emptied(left, path.slice(0, -1));
  }
  const [key, parent] = [String(path.at(-1)), path.slice(0, -1)];
  if (placeOf(lines, parent) === undefined) return added(lines, parent.slice(0, -1), `${String(parent.at(-1))}: ${flow({ [key]: value })}`);
  return added(lines, parent, `${key}: ${flow(value)}`);
}

/** The text of a document after edits, with its comments; undefined: its text cannot be edited so that it means what it should. */
function textOf(text: string, edits: readonly Edit[], wanted: Fields): string | undefined {
  let lines: readonly string[] | undefined = text.split('\n');
  for (const edit of edits.toSorted((a, b) => rank(a) - rank(b))) lines = lines === undefined ? undefined : edited(lines, edit);
  if (lines === undefined) return undefined;
  const result = lines.join('\n');
  try {
    return isDeepStrictEqual(loadManifest(result), wanted) ? result : undefined;
  } catch {
    // An anchor went, and its alias stays.
    return undefined;
  }
}

const yaml = (object: Fields): string => dump(object, { lineWidth: 120, noRefs: true });

/** Returns the reason why a list of objects is not rewritten; undefined: it needs no change, or holds none of AgentFleet's. */
function listRefusal({ kind, items }: Fields): string | undefined {
  if (!String(kind).endsWith('List') || !Array.isArray(items)) return undefined;
  const ours = (items as readonly Fields[]).filter((item) => isOurs(item));
  const isOld = ours.some((item) => [planOf(item)].some(({ edits, refusals }) => edits.length > 0 || refusals.length > 0));
  return isOld ? `kind ${String(kind)}: a list is not rewritten; write each of its items as a document, as "fleet backup" does` : undefined;
}

const isOurs = (object: Fields): boolean => String(object['apiVersion']).startsWith('agentfleet.dev/');

function document(text: string): Migrated {
  const object = (loadManifests(text).length === 0 ? undefined : loadManifest(text)) as Fields | undefined;
  const refusal = typeof object === 'object' ? listRefusal(object) : undefined;
  if (refusal !== undefined) return { text, changes: [], refusals: [refusal] };
  if (typeof object !== 'object' || !isOurs(object)) return { text, changes: [], refusals: [] };
  const { edits, more, changes, refusals } = planOf(object);
  const { name = '' } = (object['metadata'] ?? {}) as { readonly name?: string };
  const of = (words: string): string => `${String(object['kind'])} ${name}: ${words}`;
  if (edits.length === 0 || refusals.length > 0) return { text, changes: [], refusals: refusals.map(of) };
  const wanted = applied(object, edits);
  const kept = textOf(text, edits, wanted);
  const block = placeOf(text.split('\n'), ['spec', 'rollout']);
  const inside = block === undefined || more.length === 0 ? [] : commentsOf(text.split('\n').slice(block.from, block.to));
  const first = kept ?? yaml(wanted);
  const rest = more.map((one) => `---\n${inside.map((line) => `${line}\n`).join('')}${yaml(one)}`);
  return {
    text: [first.endsWith('\n') ? first : `${first}\n`, ...rest].join(''),
    changes: [
      ...changes,
      ...(kept === undefined
        ? ['written anew, as its text cannot be edited in place: its comments are lost, and aliases and merge keys are what they stand for']
        : []),
    ].map(of),
    refusals: [],
  };
}

/** A file of manifests in the form of now, with its ends of lines and its mark of byte order. What it cannot read or rewrite is among its refusals. Pure. */
export function migrate(text: string): Migrated {
  if (text.startsWith('\uFEFF')) {
    const migrated = migrate(text.slice(1));
    return { ...migrated, text: `\uFEFF${migrated.text}` };
  }
  if (!text.includes('\r\n')) return migrateStream(text);
  const { changes, refusals, text: written } = migrateStream(text.replaceAll('\r\n', '\n'));
  return { text: changes.length === 0 ? text : written.replaceAll('\n', '\r\n'), changes, refusals };
}

function migrateStream(text: string): Migrated {
  const separator = /^---(?:[ \t]+#.*|[ \t]*)(?:\n|(?![^]))/m;
  const parts = text.split(separator);
  const between = text.match(new RegExp(separator, 'gm')) ?? [];
  const found = parts.map((part): Migrated => {
    try {
      return document(part);
    } catch (error) {
      return { text: part, changes: [], refusals: [error instanceof Error ? error.message : String(error)] };
    }
  });
  const refusals = found.flatMap((one) => one.refusals);
  const changes = found.flatMap((one) => one.changes);
  return {
    text: refusals.length > 0 || changes.length === 0 ? text : found.map((one, at) => `${between[at - 1] ?? ''}${one.text}`).join(''),
    changes,
    refusals,
  };
}
