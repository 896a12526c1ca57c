import type { Mutant } from './mutants.ts';

const folder = 'inference-image/src/turnstile';
const vllm = 'inference-image/src/engines/vllm';
const vitest = (path: string): Mutant['test'] => ({ kind: 'vitest', path });
const rules = vitest(`${folder}/turns.test.ts`);
const simulation = vitest(`${folder}/simulation.test.ts`);
const overHttp = vitest(`${vllm}/turns.test.ts`);

/** Of engines that take turns on a GPU: who is awake, and who is told so. */
export const turnstiles: readonly Mutant[] = [
  {
    guarantee: 'the turnstile puts no engine to sleep under a use',
    file: `${folder}/policy.ts`,
    find: 'awake.find((member) => activeOf(member) === 0 && member.retryAt <= now && mustLeave(member))',
    replace: 'awake.find((member) => member.retryAt <= now && mustLeave(member))',
    test: simulation,
  },
  {
    guarantee: 'the turnstile wakes nobody while another engine has the GPU',
    file: `${folder}/policy.ts`,
    find: 'if (isBlocked(members) || awake.length + loading.length > 0) return null;',
    replace: 'if (isBlocked(members) || awake.length > 0) return null;',
    test: simulation,
  },
  {
    guarantee: 'an engine whose state nobody knows keeps others from being woken',
    file: `${folder}/policy.ts`,
    find: "return members.some(({ condition }) => condition === 'Unknown');",
    replace: 'return members.length === 0;',
    test: rules,
  },
  {
    guarantee: 'the turnstile grants nothing before all who were there could come',
    file: `${folder}/turns.ts`,
    find: 'return this.#metAt !== undefined && now() - this.#metAt >= times.settleMs;',
    replace: 'return this.#metAt !== undefined && times.settleMs >= 0;',
    test: rules,
  },
  {
    guarantee: 'a turn takes nothing new after its time when others wait',
    file: `${folder}/policy.ts`,
    find: 'return now - turnAt >= turnMs;',
    replace: 'return now - turnAt >= turnMs * 1000;',
    test: rules,
  },
  {
    guarantee: 'an engine that does not wake waits behind the others again',
    file: `${folder}/turns.ts`,
    find: "    if (kind !== 'Sleep') member.place = undefined;\n",
    replace: '',
    test: rules,
  },
  {
    guarantee: 'turns go round: who had one waits for all who waited before',
    file: `${folder}/policy.ts`,
    find: 'return ready.sort((a, b) => (a.place ?? 0) - (b.place ?? 0));',
    replace: 'return ready.sort((a, b) => (b.place ?? 0) - (a.place ?? 0));',
    test: rules,
  },
  {
    guarantee: 'an engine that starts anew by itself is counted as one that has the GPU',
    file: `${folder}/observe.ts`,
    find: "become(member, 'Loading', now);\n}",
    replace: "become(member, 'Asleep', now);\n}",
    test: rules,
  },
  {
    guarantee: 'a load is given to others when the engine does not come up in its time',
    file: `${folder}/observe.ts`,
    find: "if (member.condition !== 'Loading' || now - member.since < loadMs) return;",
    replace: "if (member.condition !== 'Loading' || now - member.since < loadMs * 2) return;",
    test: rules,
  },
  {
    guarantee: 'what cannot be reached for ten seconds holds nothing of the GPU',
    file: `${folder}/observe.ts`,
    find: 'return since !== undefined && now - since >= times.goneMs;',
    replace: 'return since !== undefined && now < since;',
    test: rules,
  },
  {
    guarantee: 'a use outlives a connection that breaks for a moment',
    file: `${folder}/turns.ts`,
    find: "if (use.state === 'Granted') use.brokenAt ??= this.#options.now();",
    replace: "if (use.state === 'Waiting') use.brokenAt ??= this.#options.now();",
    test: rules,
  },
  {
    guarantee: 'a new turnstile hears of engines that nobody speaks for while they load',
    file: `${folder}/turns.ts`,
    find: "member.bidden = known.state === 'Loading' || known.state === 'Absent';",
    replace: 'member.bidden = false;',
    test: rules,
  },
  {
    guarantee: 'an engine that was loaded is left awake until it was proved',
    file: `${folder}/policy.ts`,
    find: 'return turnByLoad && turnUses === 0 && now - turnAt < proofMs;',
    replace: 'return turnByLoad && turnUses > 0 && now - turnAt < proofMs;',
    test: rules,
  },
  {
    guarantee: 'an engine that refuses to sleep is told as one that has the GPU',
    file: `${folder}/engines.ts`,
    find: '  return { kind: seen.kind, fault: failure ?? seen.fault };',
    replace: "  return { kind: failure === null ? seen.kind : 'Asleep', fault: seen.fault };",
    test: overHttp,
  },
  {
    guarantee: 'a use under way is told to a turnstile that starts anew',
    file: `${folder}/client.ts`,
    find: '          held = true;\n',
    replace: '          held = false;\n',
    test: vitest(`${folder}/client.test.ts`),
  },
  {
    guarantee: 'each process of an engine in turns is proved, also one that was put to sleep at once',
    file: `${vllm}/swap.ts`,
    find: 'turns.load !== null && turns.load === this.#proved && ',
    replace: '',
    test: vitest(`${vllm}/swap.test.ts`),
  },
  {
    guarantee: 'who gets no turn in time is told to come again',
    file: `${vllm}/swap.ts`,
    find: '{ cause: error, retryAfterSeconds }',
    replace: '{ cause: error }',
    test: vitest(`${vllm}/swap.test.ts`),
  },
];
