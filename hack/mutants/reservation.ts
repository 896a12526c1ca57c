import type { Mutant } from './mutants.ts';

const reserve = 'operator/src/controllers/placement/reserve';
const test: Mutant['test'] = { kind: 'vitest', path: `${reserve}/reserve.test.ts` };
const told: Mutant['test'] = { kind: 'vitest', path: 'inference-image/src/gpu/gpu.test.ts' };
const modes: Mutant['test'] = { kind: 'vitest', path: 'operator/src/placement/modes/modes.test.ts' };
const seats: Mutant['test'] = { kind: 'vitest', path: 'operator/src/serving/seat.test.ts' };

/** Of GPUs of device plugins that several engines share. */
export const reservation: readonly Mutant[] = [
  {
    guarantee: 'a slot never has two pods that hold it',
    file: `${reserve}/holders.ts`,
    find: 'wanted.filter(({ slot }) => !taken.has(slot))',
    replace: 'wanted.filter((holder) => !present.some((known) => key(known) === key(holder)))',
    test,
  },
  {
    guarantee: 'a GPU is held until the last engine on it is gone',
    file: `${reserve}/holders.ts`,
    find: 'hastened || kept || inUse.has(holder.uid)',
    replace: 'hastened || kept',
    test,
  },
  {
    guarantee: 'another board under a held slot needs a human',
    file: `${reserve}/slots.ts`,
    find: 'bound !== undefined && bound.uuid !== told.uuid &&',
    replace: 'bound !== undefined && bound.uuid === told.uuid &&',
    test,
  },
  {
    guarantee: 'one board is not the slot of two holders',
    file: `${reserve}/slots.ts`,
    find: 'if (twin !== slot)',
    replace: "if (twin === '')",
    test,
  },
  {
    guarantee: 'what is held stays while the device plugin is restarted',
    file: `${reserve}/slots.ts`,
    find: 'new Set([...counted, ...held.map(({ slot }) => slot)])',
    replace: 'new Set([...counted])',
    test,
  },
  {
    guarantee: 'an engine whose GPU nobody holds does not start',
    file: 'operator/src/controllers/placement/admit.ts',
    find: ' && !lacksHolder(mode, assignment)',
    replace: '',
    test,
  },
  {
    guarantee: 'a holder of another namespace is nobody’s',
    file: 'operator/src/controllers/placement/plan.ts',
    find: 'holder?.namespace === namespace ?',
    replace: 'holder !== undefined ?',
    test,
  },
  {
    guarantee: 'a board that several engines share is of one namespace',
    file: 'operator/src/controllers/placement/problem.ts',
    find: ' || slot.counted)',
    replace: ')',
    test,
  },
  {
    guarantee: 'a node is asked again in its next life only',
    file: `${reserve}/probe.ts`,
    find: 'boots.get(node) !== boot).map(',
    replace: 'boots.get(node) === boot).map(',
    test,
  },
  {
    guarantee: 'a probe that never starts is not waited for without an end',
    file: `${reserve}/probe.ts`,
    find: "> patienceMs ? 'Silent' : undefined",
    replace: '> patienceMs ? undefined : undefined',
    test,
  },
  {
    guarantee: 'a lesser mode is not taken for good while the probe is under way',
    file: 'operator/src/placement/modes/ladder.ts',
    find: 'if (reason === unanswered) return',
    replace: "if (reason === '') return",
    test: modes,
  },
  {
    guarantee: 'engines start anew with the pod that holds their GPU',
    file: 'operator/src/serving/seat.ts',
    find: '...(holder === undefined ? {} : { [holderAnnotation]: holder })',
    replace: '...{}',
    test: seats,
  },
  {
    guarantee: 'what runs beside an engine sees no GPU',
    file: 'operator/src/serving/seat.ts',
    find: 'env: [...(one.env ?? []), ...withoutGpu.env]',
    replace: 'env: [...(one.env ?? [])]',
    test: seats,
  },
  {
    guarantee: 'a part of a GPU is not held as a whole one',
    file: 'inference-image/src/gpu/held.ts',
    find: "word.startsWith('MIG-')",
    replace: "word.startsWith('mig-')",
    test: told,
  },
  {
    guarantee: 'a GPU that the driver does not show is not told',
    file: 'inference-image/src/gpu/held.ts',
    find: 'same === undefined && strangers.length > 0',
    replace: 'same === undefined && strangers.length > 1',
    test: told,
  },
];
