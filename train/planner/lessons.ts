import { encodeStep, isHarm, tools } from '../../inference-image/src/models/planner/encode.ts';
import type { Random } from '../numeric/random.ts';
import type { Lesson } from './backward.ts';
import { standstill, type Trace } from './traces.ts';

/** Share of the moments at which the planner sees the step that is about to be taken. */
const seesNext = 0.3;

/** A trace as the network learns it. */
export function lessonOf(trace: Trace, random: Random): Lesson {
  return {
    steps: trace.steps.map(encodeStep),
    next: trace.planned.map((step) => (random.next() < seesNext ? encodeStep(step) : null)),
    targets: trace.steps.map(({ tool, result }, at) => ({
      tool: tools.indexOf(tool),
      harm: isHarm(result),
      standstill: standstill(trace, at),
    })),
  };
}
