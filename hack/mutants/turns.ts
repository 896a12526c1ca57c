import type { Mutant } from './mutants.ts';

const controller = 'operator/src/controllers/placement';
const pool = 'operator/src/controllers/expertpool';
const swap = `${controller}/swap.ts`;
const ledger: Mutant['test'] = { kind: 'vitest', path: `${controller}/swap.test.ts` };
const property: Mutant['test'] = { kind: 'vitest', path: `${controller}/swap.property.test.ts` };
const objects: Mutant['test'] = { kind: 'vitest', path: `${pool}/turns.test.ts` };

/** Of engines that take turns on a GPU, on the operator's side. */
export const turns: readonly Mutant[] = [
  {
    guarantee: 'whoever is awake on a slot, the others asleep, has room there',
    file: swap,
    find: 'return sum(awake.map(asleep)) + Math.max(0, ...awake.map(growth));',
    replace: 'return sum(awake.map(asleep)) + Math.min(...awake.map(growth));',
    test: property,
  },
  {
    guarantee: 'an engine that leaves has its part of the room until its pods are gone',
    file: swap,
    find: '  const bytes = roomOf([...members.map(bytesIn), ...followers]) - roomOf(followers);',
    replace: '  const bytes = Math.max(1, roomOf(members.map(bytesIn)) - roomOf(followers));',
    test: ledger,
  },
  {
    guarantee: 'engines that take turns move together, and wait for what leaves',
    file: swap,
    find: "...(slot === '' && anchor !== undefined && followers.length > 0 ? { among: [anchor] } : {}),",
    replace: '...{},',
    test: ledger,
  },
  {
    guarantee: 'a newcomer changes no claim of those that take turns already',
    file: swap,
    find: '  if (carries(a) !== carries(b)) return carries(a) ? -1 : 1;',
    replace: '  if (carries(a) !== carries(b)) return growth(b.awake) - growth(a.awake);',
    test: ledger,
  },
  {
    guarantee: 'a canary of an engine that takes turns needs a sleeper’s bytes, or what it has more',
    file: swap,
    find: '  const share = (slot: string): number => roomOf([...at(slot), awake]) - roomOf(at(slot));',
    replace: '  const share = (slot: string): number => asleep(awake) + at(slot).length * 0;',
    test: ledger,
  },
  {
    guarantee: 'engines that the user keeps apart share no turns',
    file: swap,
    find: '  return !alone && !apart;',
    replace: '  return !alone || !apart;',
    test: ledger,
  },
  {
    guarantee: 'an engine is what the ledger counts it as, whatever its spec asks for',
    file: `${pool}/turns.ts`,
    find: "  return { ...expert, residency: turns ? 'Swap' : 'Always' };",
    replace: '  return expert;',
    test: objects,
  },
  {
    guarantee: 'an engine loads in its turn, after its weights were looked at',
    file: 'operator/src/serving/vllm/turn.ts',
    find: '(one.name === engine ? [turnOf(turn), one] : [one])',
    replace: '(one.name === engine ? [one, turnOf(turn)] : [one])',
    test: objects,
  },
  {
    guarantee: 'there are never two turnstiles on a slot',
    file: `${pool}/manifests/turnstile.ts`,
    find: "strategy: { type: 'Recreate' },",
    replace: "strategy: { type: 'RollingUpdate' },",
    test: objects,
  },
  {
    guarantee: 'only members reach the turnstile',
    file: `${pool}/manifests/turnstile.ts`,
    find: 'ingress: [{ from: [{ podSelector: members(pool, turnstile) }, ...asking], ports: [port(turnstilePort)] }],',
    replace: 'ingress: [{ from: [{ podSelector: {} }, ...asking], ports: [port(turnstilePort)] }],',
    test: objects,
  },
  {
    guarantee: 'a turnstile stays while its last engine leaves, and no engine has pods without one',
    file: `${pool}/turns.ts`,
    find: '  const taking = mode === undefined ? [] : assignments.filter(({ awakeBytes }) => awakeBytes !== undefined);',
    replace: '  const taking = mode === undefined ? [] : assignments.filter(({ awakeBytes }) => awakeBytes !== undefined).slice(1);',
    test: objects,
  },
];
