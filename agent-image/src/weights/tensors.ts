// agent-image, weights: tensor files for an engine. May import checks, egress, rails, store, base; protocol, kube, keeper's client.
import { WeightsFailure } from './failure.ts';

/** The file of a model in parts that names them. */
export const indexName = 'model.safetensors.index.json';

const isTensors = (path: string): boolean => path.endsWith('.safetensors');

/**
 * The files of tensors that an engine loads, among the paths of a folder: those that the index names, else those at the top.
 * Many models have the same tensors once more, as `consolidated.safetensors` or in a folder of another format. Pure.
 * @param index the content of {@link indexName}; undefined where there is none
 * @throws WeightsFailure the index is none, or names what is not there
 */
export function tensorFiles(paths: readonly string[], index: string | undefined): readonly string[] {
  if (index !== undefined) {
    const parts = partsOf(index);
    const missing = [...parts].find((part) => !paths.includes(part));
    if (missing === undefined) return paths.filter((path) => parts.has(path));
    throw new WeightsFailure('Unreadable', `${indexName} names ${missing}, which is not there: put it there, or remove the index`);
  }
  const top = paths.filter((path) => isTensors(path) && !path.includes('/'));
  return top.some((path) => path.startsWith('model')) ? top.filter((path) => !path.startsWith('consolidated')) : top;
}

/** Paths without the files of tensors that no engine loads. @throws WeightsFailure as {@link tensorFiles} */
export function loadedFiles(paths: readonly string[], index: string | undefined): ReadonlySet<string> {
  return new Set([...paths.filter((path) => !isTensors(path)), ...tensorFiles(paths, index)]);
}

function partsOf(index: string): ReadonlySet<string> {
  try {
    const { weight_map: map } = JSON.parse(index) as { readonly weight_map: Readonly<Record<string, string>> };
    return new Set(Object.values(map));
  } catch (error) {
    throw new WeightsFailure('Unreadable', `${indexName} has no weight_map (${(error as Error).message}): is the file whole?`);
  }
}
