import type { Mutant } from './mutants.ts';

const inventory = 'operator/src/placement/inventory';
const modes = 'operator/src/placement/modes';
const controller = 'operator/src/controllers/placement';
const unit = (path: string): Mutant['test'] => ({ kind: 'vitest', path });
const slices = unit(`${inventory}/slices.test.ts`);
const plans = unit(`${controller}/mig.test.ts`);
const sharing = unit(`${controller}/sharing.test.ts`);

/** Of MIG slices as slots, and of how a slot is shared. */
export const migs: readonly Mutant[] = [
  {
    guarantee: 'devices that overlap are not counted as memory of their own',
    file: `${inventory}/counters.ts`,
    find: '      rest.set(counter, (rest.get(counter) ?? 0) - value);\n',
    replace: '',
    test: slices,
  },
  {
    guarantee: 'slices that exist come before the board that they are parts of',
    file: `${inventory}/counters.ts`,
    find: 'return slice(a) - slice(b) || ',
    replace: 'return ',
    test: slices,
  },
  {
    guarantee: 'devices of one uuid are not pinned by it',
    file: `${inventory}/gpus.ts`,
    find: 'twins.get(gpu.uuid) === 1',
    replace: 'twins.has(gpu.uuid)',
    test: slices,
  },
  {
    guarantee: 'a board whose slices are slots is nobody’s place',
    file: `${inventory}/slots.ts`,
    find: 'divided.has(board.uuid) ? withoutPlace(board, parts) : board',
    replace: 'board',
    test: slices,
  },
  {
    guarantee: 'a uuid that comes back with another size has another name',
    file: `${inventory}/slots.ts`,
    find: "fits: (slot, { mig }) => parseSlotName(slot)?.slice?.profile === profileName(mig?.profile ?? ''),",
    replace: 'fits: () => true,',
    test: slices,
  },
  {
    guarantee: 'a slice in the place of another one waits for a human',
    file: `${inventory}/naming.ts`,
    find: 'free.find((gpu) => inPlace(gpu) && kind.fits(binding.slot, gpu))',
    replace: 'free.find((gpu) => inPlace(gpu) && gpu.mig === undefined)',
    test: slices,
  },
  {
    guarantee: 'the name of a slice tells that of its board when the book is lost',
    file: `${inventory}/slots.ts`,
    find: 'if (!known) implied.set(',
    replace: 'if (known) implied.set(',
    test: slices,
  },
  {
    guarantee: 'the claim of a slice pins its size beside its uuid',
    file: `${modes}/slotClaim.ts`,
    find: "...(profile === undefined ? [] : [pin(driver, 'profile', profile)])",
    replace: '',
    test: unit(`${modes}/sharing.test.ts`),
  },
  {
    guarantee: 'an attribute that a device lacks does not end the allocation',
    file: `${modes}/slotClaim.ts`,
    find: "return `'${attribute}' in ${attributes} && ${attributes}.",
    replace: 'return `${attributes}.',
    test: unit(`${modes}/modes.test.ts`),
  },
  {
    guarantee: 'claims of slices name the class of slices',
    file: `${controller}/claimNames.ts`,
    find: 'return mig === undefined ? deviceClass : migDeviceClass;',
    replace: 'return deviceClass + migDeviceClass.slice(0, 0);',
    test: plans,
  },
  {
    guarantee: 'nothing talks across MIG slices, whatever is said of links',
    file: 'operator/src/placement/solver/occupancy.ts',
    find: "if (problem.nvlink !== 'Required' && !isolating) return undefined;",
    replace: "if (problem.nvlink !== 'Required') return undefined;",
    test: unit('operator/src/placement/solver/solve.test.ts'),
  },
  {
    guarantee: 'no engine spans MIG slices',
    file: 'operator/src/placement/solver/model.ts',
    find: '(joinable(slots[a], slots[b]) && (type',
    replace: '((type',
    test: unit('operator/src/placement/solver/solve.test.ts'),
  },
  {
    guarantee: 'MIG slices of a device plugin are told as what they are',
    file: `${modes}/ladder.ts`,
    find: '  if (slicesOfPlugin !== undefined) return slicesOfPlugin;\n',
    replace: '',
    test: plans,
  },
  {
    guarantee: 'MIG slices of a device plugin beside a DRA driver are two stacks',
    file: `${inventory}/conflict.ts`,
    find: '[pluginResource] : []), ...pluginSlices(node)]',
    replace: '[pluginResource] : [])]',
    test: slices,
  },
  {
    guarantee: 'a line of data.sharing that changes starts nobody anew',
    file: `${controller}/claimNames.ts`,
    find: 'return sharingAsked.has(slot.name) ? fresh : (inForce[0]?.claim ?? fresh);',
    replace: 'return fresh;',
    test: sharing,
  },
  {
    guarantee: 'a human who lets tenants start anew says for which line',
    file: `${controller}/sharing.ts`,
    find: "typeof rule !== 'string' && sharingText(rule) === sharingText(rules.get(slot)) ?",
    replace: "typeof rule !== 'string' ?",
    test: sharing,
  },
  {
    guarantee: 'the spec of a claim in force stays what it was made with',
    file: `${controller}/claims.ts`,
    find: 'sharing: sharingInName(name),',
    replace: 'sharing: inventory.sharings.get(slot.name),',
    test: sharing,
  },
  {
    guarantee: 'a line of data.sharing that waits for the next claim is told',
    file: `${controller}/sharing.ts`,
    find: 'return lateWord(now, sharings) ?? narrowWord',
    replace: 'return narrowWord',
    test: sharing,
  },
  {
    guarantee: 'a line of data.sharing without effect is told',
    file: `${controller}/sharing.ts`,
    find: 'faults: [...faults, ...idle]',
    replace: 'faults',
    test: sharing,
  },
  {
    guarantee: 'what MPS leaves an engine is held against its budget',
    file: `${controller}/sharing.ts`,
    find: 'each <= limit * 2 ** 20',
    replace: 'each > 0',
    test: sharing,
  },
];
