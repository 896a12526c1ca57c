import type { Mutant } from './mutants.ts';

const keeper = 'sandbox-image/keeper/src';
const worker = 'agent-image/src';
const vitest = (path: string): Mutant['test'] => ({ kind: 'vitest', path });

/** Bugs in the durable copies: what leaves a keeper, what lies in the store, and what comes back. */
export const durable: readonly Mutant[] = [
  {
    guarantee: 'durable: a keeper with a history of its own adopts nothing',
    file: `${keeper}/durable/adoptions.ts`,
    find: 'if (!ofItsOwn.has(type))',
    replace: "if (!ofItsOwn.has(type) && type === 'Adopted')",
    test: vitest(`${keeper}/durable/durable.test.ts`),
  },
  {
    guarantee: 'durable: a content that arrives altered is refused',
    file: `${keeper}/snapshot/objects/objectStore.ts`,
    find: "if (hashOnce('sha256', bytes, 'binary') !== hash) throw corrupt(hash, 'arrived damaged');",
    replace: '',
    test: vitest(`${keeper}/durable/durable.test.ts`),
  },
  {
    guarantee: 'durable: a manifest that arrives altered is refused',
    file: `${keeper}/snapshot/adoption.ts`,
    find: 'if (digest !== record.manifestDigest)',
    replace: "if (digest === '')",
    test: vitest(`${keeper}/durable/durable.test.ts`),
  },
  {
    guarantee: 'durable: an adoption that was cut off before its log was moved is undone',
    file: `${keeper}/durable/staging.ts`,
    find: 'const undone = placing && (await exists(staging.log));',
    replace: "const undone = placing && staging.log === '';",
    test: vitest(`${keeper}/durable/durable.test.ts`),
  },
  {
    guarantee: 'durable: no id of a lost keeper is given again',
    file: `${keeper}/snapshot/casEngine.ts`,
    find: '    readFloor(this.#layout.floor, this.#files);\n',
    replace: '',
    test: vitest(`${keeper}/durable/durable.test.ts`),
  },
  {
    guarantee: 'durable: what another task has stored is not stored again',
    file: `${worker}/durable/writer.ts`,
    find: 'contents.filter(({ sha256 }) => shelf.holders(sha256) === undefined)',
    replace: 'contents',
    test: vitest(`${worker}/durable/durability.test.ts`),
  },
  {
    guarantee: 'durable: names of encrypted packs tell nothing about their contents',
    file: `${worker}/durable/seal.ts`,
    find: "createHmac('sha256', this.#current.names).update",
    replace: "createHash('sha256').update",
    test: vitest(`${worker}/durable/seal.test.ts`),
  },
  {
    guarantee: 'durable: a volume that came back empty is never called restored',
    file: `${worker}/attempt/lostSnapshots.ts`,
    find: 'labelled(there, labels.initial) !== undefined) return;',
    replace: 'there.length >= 0) return;',
    test: vitest(`${worker}/attempt/lostSnapshots.test.ts`),
  },
  {
    guarantee: 'durable: an empty sandbox does not take the place of a checkpoint that is gone',
    file: `${worker}/durable/durability.ts`,
    find: '    if (told.checkpointURI !== undefined) throw missing(told.checkpointURI);\n',
    replace: '',
    test: vitest(`${worker}/durable/durability.faults.test.ts`),
  },
  {
    guarantee: 'durable: what an earlier key has sealed is read',
    file: `${worker}/durable/seal.ts`,
    find: 'const all = [current, ...earlier.map((key) => new DerivedKey(key))];',
    replace: 'const all = [current, ...earlier.slice(earlier.length).map((key) => new DerivedKey(key))];',
    test: vitest(`${worker}/durable/rotation.test.ts`),
  },
  {
    guarantee: 'durable: nothing new relies on what an earlier key has sealed',
    file: `${worker}/durable/shelf.ts`,
    find: '      if (this.#outdated.has(name)) continue;\n',
    replace: '',
    test: vitest(`${worker}/durable/rotation.test.ts`),
  },
  {
    guarantee: 'durable: an older checkpoint is tried when the newest is damaged',
    file: `${worker}/durable/adopt.ts`,
    find: 'failure ??= unusable;',
    replace: 'throw unusable;',
    test: vitest(`${worker}/durable/durability.faults.test.ts`),
  },
  {
    guarantee: 'durable: what was adopted and not restored is restored by the next worker',
    file: `${worker}/durable/durability.ts`,
    find: "if (type === 'Adopted') return 'Adopted';",
    replace: "if (type === 'Adopted') return 'Knows';",
    test: vitest(`${worker}/durable/durability.test.ts`),
  },
  {
    guarantee: 'durable: a log that is older than the reported one is told',
    file: `${worker}/durable/durability.ts`,
    find: 'if (told.auditRoot === undefined || has(told.auditRoot)) return;',
    replace: "if (told.auditRoot === undefined || has(told.auditRoot) || root !== '') return;",
    test: vitest(`${worker}/durable/durability.test.ts`),
  },
  {
    guarantee: 'durable: a checkpoint names nothing that was swept since it was stored',
    file: `${worker}/durable/writer.ts`,
    find: 'if (lost.size === 0) return',
    replace: 'if (lost.size >= 0) return',
    test: vitest(`${worker}/durable/durability.faults.test.ts`),
  },
  {
    guarantee: 'durable: a worker that was replaced removes nothing of its successor',
    file: `${worker}/durable/writer.ts`,
    find: 'range.epoch <= epoch',
    replace: 'range.epoch >= 0 && epoch >= 0',
    test: vitest(`${worker}/durable/durability.test.ts`),
  },
  {
    guarantee: 'durable: a sweep waits between marking and removing',
    file: `${worker}/durable/sweep.ts`,
    find: '} else if (now - mark > grace && newest <= mark) {',
    replace: '} else if (newest <= mark) {',
    test: vitest(`${worker}/durable/sweep.test.ts`),
  },
  {
    guarantee: 'durable: what is marked is relied on by nobody',
    file: `${worker}/durable/shelf.ts`,
    find: 'name !== null && !this.#doomed.has(name)',
    replace: "name !== null && name !== ''",
    test: vitest(`${worker}/durable/sweep.test.ts`),
  },
  {
    guarantee: 'durable: the intent of an act is stored before it runs',
    file: `${worker}/attempt/hands.ts`,
    find: '    await this.#context.intentDurable();\n',
    replace: '',
    test: vitest(`${worker}/attempt/intent.test.ts`),
  },
  {
    guarantee: 'durable: a task is said to rest only when it was copied',
    file: `${worker}/tasks/copies.ts`,
    find: '    await this.#durability.checkpoint(stop);\n',
    replace: '',
    test: vitest(`${worker}/tasks/copies.test.ts`),
  },
];
