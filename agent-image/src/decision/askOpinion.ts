import { actFeatures, judgeBounds, scoreBounds, type PolicyVerdict } from '@agentfleet/protocol/inference';
import type { ActInQuestion, SecondOpinion } from '../attempt/ports.ts';
import { decisions } from '../rails/index.ts';
import { abstention, decide, type Voice, type Voices, actId, thresholdsOf } from './opinion.ts';
import { partMillis, type Steering } from './control.ts';
import type { Fleet } from './fleet.ts';
import { scoresOrSilence } from './scores.ts';

/** Asks Policy and Verifier about an act, and decides together with the planner's newest word. */
export async function askOpinion(fleet: Fleet, act: ActInQuestion, { voice: planner }: Steering): Promise<SecondOpinion> {
  const policy = await askPolicy(fleet, act);
  const unsafe = policy !== null && 'unsafe' in policy ? policy.unsafe : undefined;
  const verifier = await askVerifier(fleet, act, unsafe);
  const { pool } = fleet.options;
  const thresholds = thresholdsOf(pool.verifier, act.head);
  const voices: Voices = {
    policy,
    planner,
    verifier,
    whenUnavailable: pool.verifier?.whenUnavailable ?? 'FailClosed',
    ...thresholds,
  };
  return decide(voices, act.rails);
}

/** A long content is judged in pieces, so that nothing hides behind a bound; the worst one counts. */
async function askPolicy(fleet: Fleet, { tool, subject, content, rails }: ActInQuestion): Promise<Voice<PolicyVerdict>> {
  const policy = fleet.member('Policy');
  if (policy === undefined) return null;
  const pieces = content === undefined ? [undefined] : piecesOf(content);
  if (pieces.length > judgeBounds.maxActs || subject.length > judgeBounds.maxTextChars)
    return { silent: 'the act is too long to be judged' };
  const found = rails.findings.slice(0, 64).map((rail) => rail.slice(0, 64));
  const acts = pieces.map((piece, at) => ({
    id: `${actId}${at}`,
    tool,
    subject,
    rails: found,
    ...(piece !== undefined && { content: piece }),
  }));
  const manner = { timeoutMillis: partMillis, without: 'gate 2 goes by its table' };
  const answer = await fleet.ask(policy, 'Judge', { requestId: fleet.requestId, acts }, manner);
  if (typeof answer === 'string') return { silent: answer };
  const [worst] = answer.verdicts.toSorted((a, b) => b.unsafe - a.unsafe);
  return worst ?? { silent: 'no verdict' };
}

function piecesOf(content: string): readonly string[] {
  const { maxTextChars } = judgeBounds;
  const count = Math.max(1, Math.ceil(content.length / maxTextChars));
  return Array.from({ length: count }, (_, at) => content.slice(at * maxTextChars, (at + 1) * maxTextChars));
}

async function askVerifier(fleet: Fleet, act: ActInQuestion, unsafe: number | undefined): Promise<Voices['verifier']> {
  const features = {
    ...act.features,
    ...actFeatures(act),
    railRank: decisions.indexOf(act.rails.decision),
    ...(unsafe !== undefined && { policyUnsafe: unsafe }),
  };
  const text = `${act.subject}${act.content === undefined ? '' : `\n${act.content}`}`.slice(0, scoreBounds.maxTextChars);
  const scores = await scoresOrSilence(fleet, [{ id: actId, head: act.head, text, operator: act.operator.slice(0, 128), features }]);
  if (scores === null) return null;
  if (typeof scores === 'string') return { silent: scores };
  const score = scores.get(actId);
  if (score === undefined) return { silent: 'no score' };
  const { verifier } = fleet;
  const why = abstention(verifier?.calibration, fleet.calibration, fleet.options.now?.() ?? null);
  // What abstains has not answered: whenUnavailable decides.
  if (why !== null) return { silent: why };
  if (score.pSuccess === null && verifier?.calibration !== undefined) return { silent: `its head ${act.head} is not calibrated` };
  if (score.pSuccess === null && verifier !== undefined) fleet.tell(verifier, 'not calibrated; it ranks and vetoes nothing');
  return score;
}
