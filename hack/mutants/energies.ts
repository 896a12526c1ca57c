import type { Mutant } from './mutants.ts';

const models = 'operator/src/controllers/energymodel';
const dataset = 'inference-image/train/dataset';
const mind = 'agent-image/src/mind';
const vitest = (path: string): Mutant['test'] => ({ kind: 'vitest', path });

/** Planted bugs of energies: calibrations that do not hold, and data that nothing may be trained on. */
export const energies: readonly Mutant[] = [
  {
    guarantee: 'a model whose probabilities are not true does not veto',
    file: `${models}/calibration.ts`,
    find: '!(ece <= Number(gates.ece))',
    replace: 'Number.isNaN(ece)',
    test: vitest(models),
  },
  {
    guarantee: 'a model that ranks no better than asked does not veto',
    file: `${models}/calibration.ts`,
    find: '!(auc >= Number(gates.auc))',
    replace: 'Number.isNaN(auc)',
    test: vitest(models),
  },
  {
    guarantee: 'thresholds of a calibration that is not in force measure nothing',
    file: `${models}/calibration.ts`,
    find: " || word.status !== 'True') return fixed;",
    replace: ') return fixed;',
    test: vitest(models),
  },
  {
    guarantee: 'a calibration goes stale',
    file: `${models}/calibration.ts`,
    find: 'staleAt === undefined || now < staleAt',
    replace: 'staleAt === undefined || now > 0',
    test: vitest(models),
  },
  {
    guarantee: 'a worker sees by itself that a calibration is stale',
    file: `${mind}/calibration.ts`,
    find: '!(now < Date.parse(until))',
    replace: 'now < 0',
    test: vitest(`${mind}/calibration.test.ts`),
  },
  {
    guarantee: 'answers of another calibration than the one in force do not count',
    file: `${mind}/calibration.ts`,
    find: 'told !== digest) return',
    replace: "told === '') return",
    test: vitest(`${mind}/calibration.test.ts`),
  },
  {
    guarantee: 'a verifier that abstains closes gate 2',
    file: `${mind}/askOpinion.ts`,
    find: '  if (why !== null) return { silent: why };\n',
    replace: '',
    test: vitest(`${mind}/calibration.test.ts`),
  },
  {
    guarantee: 'an operator trusts no figures that are no numbers',
    file: 'operator/src/serving/calibration.ts',
    find: 'ensure(isShare(auc) && isShare(ece),',
    replace: 'ensure(isShare(auc) || isShare(ece),',
    test: vitest(models),
  },
  {
    guarantee: 'weights that are not finite are refused',
    file: 'inference-image/src/models/energy/file.ts',
    find: 'numbers.every((value) => Number.isFinite(value)) && words.temperature > 0',
    replace: 'words.temperature > 0',
    test: vitest('inference-image/src/models/energy'),
  },
  {
    guarantee: 'held-out problems are not trained on',
    file: `${dataset}/refuse.ts`,
    find: '  assertNoLeak([...train, ...calibration], heldOut);\n',
    replace: '',
    test: vitest(`${dataset}/dataset.test.ts`),
  },
  {
    guarantee: 'flipped labels are refused',
    file: `${dataset}/refuse.ts`,
    find: 'found < flippedBelow',
    replace: 'found < 0',
    test: vitest(`${dataset}/dataset.test.ts`),
  },
  {
    guarantee: 'an act is good only after two replays that agree',
    file: `${dataset}/example.ts`,
    find: "replays.length >= stableReplays ? 'Pass' : null",
    replace: "'Pass'",
    test: vitest(`${dataset}/dataset.test.ts`),
  },
  {
    guarantee: 'a data set is read only as its manifest has it',
    file: `${dataset}/files.ts`,
    find: 'found.digest !== manifest.digest',
    replace: 'found.schema !== manifest.schema',
    test: vitest(`${dataset}/dataset.test.ts`),
  },
  {
    guarantee: 'a command of no known class is scored',
    file: 'agent-image/src/attempt/gate.ts',
    find: 'scored: parts.filter((one) => !one.vouched && ',
    replace: 'scored: parts.filter((one) => one.vouched && ',
    test: vitest('agent-image/src/attempt/gate.test.ts'),
  },
  {
    guarantee: 'nobody vouches for what runs programs by an option',
    file: 'agent-image/src/rails/vouch.ts',
    find: 'isReadOnly(command) && !widened(command)',
    replace: 'isReadOnly(command)',
    test: vitest('agent-image/src/rails/vouch.test.ts'),
  },
  {
    guarantee: 'a score that is bad refuses also what no rail objects to',
    file: `${mind}/opinion.ts`,
    find: '(veto(voices, unsafeFromUnobjected) ?? unheard(voices))',
    replace: 'unheard(voices)',
    test: vitest(mind),
  },
  {
    guarantee: 'where all who judge are silent, what nobody vouches for is refused',
    file: `${mind}/opinion.ts`,
    find: 'silent === undefined || !asked.every(isSilent)) return null;',
    replace: 'silent === undefined || asked.every(isSilent)) return null;',
    test: vitest(mind),
  },
  {
    guarantee: 'what is written as it is made gets no manifest when it is unfit',
    file: `${dataset}/writer.ts`,
    find: '    refuseUnfit(this.#seen);',
    replace: '',
    test: vitest(`${dataset}/dataset.test.ts`),
  },
];
