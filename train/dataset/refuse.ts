import { assertNoLeak, auc, normalisedHash } from '@agentfleet/eval/stats';
import { isGood, stableReplays, type Example } from './example.ts';

/** Error for a data set that nothing may be trained on; the message states the fault and the cure. */
export class InvalidData extends Error {
  override readonly name = 'UnfitData';
}

/** Fewer say nothing about what was not seen. */
const leastExamples = 100;
/** Of each kind. */
const leastOfAKind = 20;
/** Share of texts that may stand under both labels: a text may be right in one program and wrong in another. */
const mostContradictions = 0.05;
/** Below it the labels say the opposite of what is known about the acts. */
const flippedBelow = 0.4;

/** More of these is never better, whatever the head is. */
const harms = [
  'compileErrors',
  'testsFailed',
  'testsBroken',
  'timedOut',
  'crashed',
  'policyUnsafe',
  'forbidden',
  'privileges',
  'hiddenCode',
] as const;

const harmOf = ({ features }: Example): number => harms.reduce((sum, name) => sum + Math.log1p(features[name] ?? 0), 0);

function refuseFewAndOneSided(examples: readonly Example[]): void {
  if (examples.length === 0) throw new InvalidData('the data set is empty; generate it, or read traces');
  if (examples.length < leastExamples)
    throw new InvalidData(`${examples.length} examples are too few, ${leastExamples} are needed; generate more`);
  const good = examples.filter(isGood).length;
  const few = Math.min(good, examples.length - good);
  if (few === 0) throw new InvalidData('all examples are of one class; add those of the other one');
  if (few < leastOfAKind) throw new InvalidData(`there are only ${few} examples of one class, ${leastOfAKind} are needed; generate more`);
}

function refuseUnstable(examples: readonly Example[]): void {
  const unstable = examples.find(
    (one) => isGood(one) && one.replays.length > 0 && !(one.replays.length >= stableReplays && one.replays.every(Boolean)),
  );
  if (unstable !== undefined)
    throw new InvalidData(
      `${unstable.id} counts as good after replays ${JSON.stringify(unstable.replays)}; replay it ${stableReplays} times`,
    );
}

function refuseFlipped(examples: readonly Example[]): void {
  const found = auc(examples.map((one) => ({ score: -harmOf(one), right: isGood(one) })));
  if (found < flippedBelow)
    throw new InvalidData(
      `what does harm is labelled good (AUC ${found.toFixed(3)} of the known harms): the labels are flipped; correct them`,
    );
  const labels = new Map<string, Set<boolean>>();
  for (const one of examples) {
    const key = `${one.problem} ${normalisedHash(`${one.operator}\n${one.text}`)}`;
    labels.set(key, (labels.get(key) ?? new Set()).add(isGood(one)));
  }
  const contradicting = [...labels.values()].filter(({ size }) => size > 1).length;
  if (contradicting / labels.size > mostContradictions)
    throw new InvalidData(`${contradicting} of ${labels.size} texts stand under both labels in one problem; label them anew`);
}

/** Refuses what of one split is in another one, by problem and by content. @throws GateError */
export function refuseLeaks(examples: readonly Example[]): void {
  const of = (split: Example['split']): { readonly problem: string; readonly content: string }[] =>
    examples
      .filter((one) => one.split === split)
      .map(({ problem, text, operator, head }) => ({ problem, content: contentOf(text, operator, head) }));
  const [train, calibration, heldOut] = [of('train'), of('calibration'), of('heldOut')];
  assertNoLeak(train, calibration);
  assertNoLeak([...train, ...calibration], heldOut);
}

/** A diff of a line or two is in many programs by chance; a command or a whole file is not. */
export const chanceChars = 160;
const contentOf = (text: string, operator: string, head: Example['head']): string =>
  head === 'Code' && text.length < chanceChars ? '' : `${operator}\n${text}`;

/**
 * Refuses data that nothing may be trained on: empty, tiny, one-sided, unstable, flipped or leaking ones.
 *
 * @throws InvalidData or GateError, with the cure
 */
export function refuseInvalid(examples: readonly Example[]): void {
  refuseFewAndOneSided(examples);
  refuseUnstable(examples);
  refuseFlipped(examples);
  refuseLeaks(examples);
}
