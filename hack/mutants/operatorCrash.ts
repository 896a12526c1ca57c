import type { Mutant } from './mutants.ts';

const controllers = 'operator/src/controllers';
const tasks = `${controllers}/agenttask`;
const courses = { kind: 'vitest', path: 'operator/src/crash/courses.test.ts' } as const;
const endings = { kind: 'vitest', path: 'operator/src/crash/endings.test.ts' } as const;
const companions = { kind: 'vitest', path: 'operator/src/crash/companions.test.ts' } as const;
const fleet = { kind: 'vitest', path: 'operator/src/crash/fleet.test.ts' } as const;

/** Planted bugs that the suite of crash points must catch. */
export const operatorCrashes: readonly Mutant[] = [
  {
    guarantee: 'through every crash each assignment has an epoch of its own',
    file: `${tasks}/decide.ts`,
    find: '    epoch: (assignment?.epoch ?? 0) + 1,\n',
    replace: '    epoch: assignment?.epoch ?? 1,\n',
    test: courses,
  },
  {
    guarantee: 'through every crash a pause costs no attempt',
    file: `${tasks}/decide.ts`,
    find: '    attempt: goesOn ? before : before + 1,\n',
    replace: '    attempt: before + 1,\n',
    test: courses,
  },
  {
    guarantee: 'through every crash usage is counted once',
    file: `${tasks}/attempts.ts`,
    find: '  const sum = addUsage(totals?.usage, usage);\n',
    replace: '  const sum = addUsage(addUsage(totals?.usage, usage), usage);\n',
    test: endings,
  },
  {
    guarantee: 'through every crash a finished task stays finished',
    file: `${tasks}/decide.ts`,
    find: "finished: course.kind === 'End' || course.kind === 'Ended' ? 'true' : 'false',",
    replace: "finished: course.kind === 'End' ? 'true' : 'false',",
    test: endings,
  },
  {
    guarantee: 'through every crash what time alone changes is looked at again',
    file: `${tasks}/decide.ts`,
    find: '    requeueAfterMs: timers(facts, course, status, storage.againMs),\n',
    replace: '    requeueAfterMs: timers(facts, course, status, storage.againMs) === undefined ? undefined : undefined,\n',
    test: endings,
  },
  {
    guarantee: 'through every crash the pod of a deleted task is let go',
    file: `${tasks}/controller.ts`,
    find: '      pods.filter((pod) => hasEnded(pod, now)),\n',
    replace: '      pods.filter((pod) => hasEnded(pod, now) && pod.metadata.deletionTimestamp === undefined),\n',
    test: endings,
  },
  {
    guarantee: 'through every crash the pod of a finished task is let go when its containers have ended',
    file: `${tasks}/decide.ts`,
    find: "    if (hasFinalizer(pod, sandboxFinalizer) && hasEnded(pod, now)) actions.push({ type: 'releaseSandbox', pod });\n",
    replace: '',
    test: endings,
  },
  {
    guarantee: 'through every crash an order belongs to its task',
    file: `${controllers}/agenttaskorder/decide.ts`,
    find: '    owner: own === undefined ? undefined : ownerOf(own),\n',
    replace: '    owner: undefined,\n',
    test: endings,
  },
  {
    guarantee: 'through every crash a status holds for the version that it was made from',
    file: `${tasks}/execute.ts`,
    find: 'await this.#status.apply(declaration, signal, seen, resourceVersion);',
    replace: 'await this.#status.apply(declaration, signal, seen);',
    test: endings,
  },
  {
    guarantee: 'through every crash no sandbox waits for a pool that is gone',
    file: `${controllers}/warmpool/decide.ts`,
    find: "    return present.map((pod) => ({ type: 'delete', pod, why: 'the pool asks for none here, or may not any more' }));\n",
    replace:
      "    return present.slice(1).map((pod) => ({ type: 'delete', pod, why: 'the pool asks for none here, or may not any more' }));\n",
    test: fleet,
  },
  {
    guarantee: 'through every crash what an expert had goes with the expert',
    file: `${controllers}/expertpool/execute.ts`,
    find: '  for (const child of remove) await writer.remove(child, signal);\n',
    replace: '',
    test: fleet,
  },
  {
    guarantee: 'through every crash a namespace that is served no more keeps nothing',
    file: `${controllers}/expertpool/served/controller.ts`,
    find: '    for (const child of remove) await options.writer.remove(child, signal);\n',
    replace: '',
    test: fleet,
  },
  {
    guarantee: 'through every crash what a pool consists of has the pool as owner',
    file: `${controllers}/expertpool/manifests/manifest.ts`,
    find: "namespace: owner.metadata.namespace ?? '', ownerReferences: [controllerReference(owner)] };",
    replace: "namespace: owner.metadata.namespace ?? '' };",
    test: fleet,
  },
  {
    guarantee: 'through every crash an order that was obeyed is not refused',
    file: `${controllers}/agenttaskorder/decide.ts`,
    find: 'if (state === undefined && !obeyed(order, task)) return',
    replace: 'if (state === undefined) return',
    test: companions,
  },
  {
    guarantee: 'through every crash a task begins only after those that it depends on',
    file: `${tasks}/placing.ts`,
    find: '  const waits = [...pending, ...missing.map((name) => `${name} (not there)`)];\n',
    replace: '  const waits = missing.map((name) => `${name} (not there)`);\n',
    test: companions,
  },
  {
    guarantee: 'through every crash a namespace holds no more slots than its limit',
    file: `${tasks}/placing.ts`,
    find: '  if (queue.runningInNamespace >= perNamespace) {',
    replace: '  if (queue.runningInNamespace > perNamespace) {',
    test: companions,
  },
  {
    guarantee: 'through every crash a volume that nobody keeps goes with its task',
    file: `${tasks}/storage.ts`,
    find: '  if (over || (end !== undefined && storage.volumeSnapshotClassName === undefined)) return clears(facts, view);\n',
    replace: '  if (over) return clears(facts, view);\n',
    test: companions,
  },
  {
    guarantee: 'nothing is made for an owner that another one of its name has followed',
    file: 'operator/src/controllers/expertpool/presence.ts',
    find: 'now.metadata.uid !== uid || ',
    replace: '',
    test: { kind: 'vitest', path: 'operator/src/controllers/expertpool/presence.test.ts' },
  },
];
