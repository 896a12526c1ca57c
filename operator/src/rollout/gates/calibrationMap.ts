// operator, rollout/gates: gate on the calibration map of a canary verifier. May import statistics, routing and protocol.
import type { Bounded, CalibrationMaps, Finding, HeadMap } from './gate.ts';

/**
 * Judges whether the map from energy to probability is one to veto by: fitted on enough acts, falling, and without a range of
 * energies of one probability at the threshold, all of which the next fit could refuse or let pass at once. Waiting mends no map,
 * so an unfit one is refused. Pure.
 */
export function calibrationMapFinding(maps: CalibrationMaps | undefined, gate: Bounded): Finding {
  if (maps === undefined) return missing('the pods of the canary have not reported how they were calibrated');
  if ('fault' in maps) return { verdict: 'Fail', samples: 0, message: `the calibration of the canary cannot count: ${maps.fault}` };
  // Maps of heads that refuse nothing cannot be wrong about a refusal.
  const vetoing = maps.heads.filter(({ veto }) => veto > 0);
  if (vetoing.length === 0) return missing('no head of the canary vetoes anything, so that there is no threshold to look at');
  const samples = Math.min(...vetoing.map((head) => head.samples));
  const refused = vetoing.map((head) => refusalOf(head, gate)).find((words) => words !== undefined);
  if (refused !== undefined) return { verdict: 'Fail', samples, message: refused };
  const nearest = Math.min(...vetoing.map((head) => distance(head) ?? 1));
  const message = `${vetoing.map(({ name }) => name).join(' and ')}: maps of ${samples} acts at least, no plateau within ${gate.bound} of a veto`;
  return { verdict: 'Pass', value: nearest, samples, message };
}

const missing = (message: string): Finding => ({ verdict: 'InsufficientData', samples: 0, message });

function refusalOf(head: HeadMap, { minSamples, bound }: Bounded): string | undefined {
  const { name, samples, knots, veto } = head;
  if (!(samples >= minSamples)) return `the map of head ${name} was fitted on ${samples} of ${minSamples} acts; calibrate it with more`;
  if (knots.length < 2) return `the map of head ${name} has one knot: all energies have one probability; calibrate it anew`;
  if (!falls(head)) return `the map of head ${name} does not fall with the energy; calibrate it anew`;
  const found = distance(head);
  if (found === undefined || found >= bound) return undefined;
  return `energies of head ${name} share a probability ${found.toFixed(4)} from its veto below ${veto}, and have to be ${bound} away; move the threshold, or calibrate it anew`;
}

function falls({ knots }: HeadMap): boolean {
  return knots.every(({ energy, probability }, at) => {
    const before = knots[at - 1];
    return before === undefined || (energy > before.energy && probability <= before.probability);
  });
}

/** Returns the distance of the nearest plateau from the veto threshold; undefined if the map has no plateau. */
function distance({ knots, veto }: HeadMap): number | undefined {
  const flat = knots.filter(({ probability }, at) => probability === knots[at - 1]?.probability);
  return flat.length === 0 ? undefined : Math.min(...flat.map(({ probability }) => Math.abs(probability - veto)));
}
