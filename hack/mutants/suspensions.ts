import type { Mutant } from './mutants.ts';

const tasks = 'operator/src/controllers/agenttask';
const test = { kind: 'vitest', path: `${tasks}/suspension.test.ts` } as const;
const storage = { kind: 'vitest', path: `${tasks}/storage.test.ts` } as const;

/** Planted bugs of suspension and of volumes. */
export const suspensions: readonly Mutant[] = [
  {
    guarantee: 'a suspended task gives its sandbox back only when all is stored',
    file: `${tasks}/suspension.ts`,
    find: "  if (atRest) return 'Ending';\n",
    replace: "  if (snapshot.task.spec.suspend) return 'Ending';\n",
    test,
  },
  {
    guarantee: 'a report of an earlier epoch gives no sandbox back',
    file: `${tasks}/facts.ts`,
    find: 'currentRun(status)?.quiescedAt',
    replace: 'status.run?.quiescedAt',
    test,
  },
  {
    guarantee: 'a suspended task holds no pod',
    file: `${tasks}/decide.ts`,
    find: ' && keepSandbox && !givesBack(course);',
    replace: ' && keepSandbox;',
    test,
  },
  {
    guarantee: 'a sandbox that was given back ends no attempt',
    file: `${tasks}/verdict.ts`,
    find: '  if (atRest) return undefined;\n',
    replace: '',
    test,
  },
  {
    guarantee: 'a volume is not snapshotted while a sandbox works on it',
    file: `${tasks}/storage.ts`,
    find: '(over || rests) && snapshot.pods.length === 0',
    replace: "over || (course.kind === 'Suspend' && facts.atRest)",
    test: storage,
  },
  {
    guarantee: 'a volume goes only when its snapshot is ready',
    file: `${tasks}/storage.ts`,
    find: 'if (taken?.status?.readyToUse === true) return',
    replace: 'if (taken !== undefined) return',
    test: storage,
  },
  {
    guarantee: 'a task goes on from the snapshot of its volume',
    file: `${tasks}/storage.ts`,
    find: "return { kind: 'Restore', name, snapshot: source.metadata.name };",
    replace: "return { kind: 'Create', name };",
    test: storage,
  },
  {
    guarantee: 'what was discarded is not kept on a volume',
    file: `${tasks}/storage.ts`,
    find: 'end !== undefined && (end.discarded || now >= end.keptUntil)',
    replace: 'end !== undefined && now >= end.keptUntil',
    test: storage,
  },
  {
    guarantee: 'a missing StorageClass is told before anything waits for it',
    file: `${tasks}/placing.ts`,
    find: '  if (fault !== undefined) return {',
    replace: '  if (fault !== undefined && now < 0) return {',
    test: storage,
  },
  {
    guarantee: 'the tools do not see the store on the volume',
    file: `${tasks}/sandboxPod.ts`,
    find: '{ name: claimVolume, mountPath, subPath: name }',
    replace: '{ name: claimVolume, mountPath }',
    test: storage,
  },
];
