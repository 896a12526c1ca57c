import { shapes, tensorNames, type TensorName, type Weights } from '../../inference-image/src/models/planner/network.ts';
import type { Random } from '../numeric/random.ts';

/** Random weights of a size that keeps sums near one; vectors begin at 0. */
export function initialWeights(random: Random): Weights {
  const tensor = (name: TensorName): Float32Array => {
    const [rows, columns] = shapes[name];
    const spread = rows === 1 ? 0 : Math.sqrt(1 / columns);
    return Float32Array.from({ length: rows * columns }, () => spread * random.normal());
  };
  return Object.fromEntries(tensorNames.map((name) => [name, tensor(name)])) as Record<TensorName, Float32Array>;
}
