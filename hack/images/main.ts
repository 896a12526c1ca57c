// hack, images: command line of the image builds. Of other folders imports hack/cache, hack/cluster/build.
import { basename, dirname, join } from 'node:path';
import { parseArgs } from 'node:util';
import { buildImages, stageContext } from './build.ts';
import { machineParts, selectImages } from './catalogue.ts';
import { listImages, renderList, bytesOf } from './archive.ts';
import { llamaModules, nodeModules } from './nodeModules.ts';
import { repository, runnerBinary } from './parts.ts';
import { run, PartUnavailable } from './run.ts';
import { smollm2, weights } from './weights.ts';
import { pruneImages } from './prune.ts';
import { reproduce } from './reproduce.ts';

const usage = `usage: main.ts build [--json] [name…]   build images into the cache
       main.ts list                     the cached images and their sizes
       main.ts reproduce [name…]        build twice from nothing and compare
       main.ts stage                    fill the dist folders of our images, for docker build elsewhere
       main.ts llama                    put llama.cpp and its model into inference-image/llama, for tests and bench
       main.ts runner                   build the runner for all architectures
       main.ts prune                    delete what is not used any more (builds do so too)`;

const mebibytes = (bytes: number): string => `${(bytes / 2 ** 20).toFixed(1)} MiB`;

async function build(names: readonly string[], json: boolean, signal: AbortSignal): Promise<number> {
  const images = await buildImages(names, { signal });
  if (json) console.log(JSON.stringify(images));
  else
    for (const { ref, digest, bytes, built } of images) console.log(`${ref} ${digest} ${mebibytes(bytes)} ${built ? 'built' : 'cached'}`);
  return images.length === 0 ? 1 : 0;
}

async function reproduceImages(names: readonly string[], signal: AbortSignal): Promise<number> {
  const { same, different } = await reproduce(names, signal);
  for (const image of same) console.log(`same      ${image.ref} ${image.digest}`);
  for (const ref of different) console.log(`different ${ref}`);
  return different.length === 0 && same.length > 0 ? 0 : 1;
}

/** Images with our programs; each has its Dockerfile in a separate folder, beside `dist`. */
const staged = ['sandbox', 'tools', 'inference', 'inference-llama', 'operator', 'agent', 's3'];

async function stage(signal: AbortSignal): Promise<number> {
  const parts = machineParts({ signal });
  for (const image of selectImages(staged)) {
    const folder = dirname(image.dockerfile);
    const files = await image.context(parts).catch((error: unknown) => {
      if (image.without === undefined || !(error instanceof PartUnavailable)) throw error;
      console.warn(`${error.message}\n  ${folder} is left out: ${image.without}.`);
      return [];
    });
    await stageContext(files, join(repository, folder));
    for (const { path, sha256 } of files) console.log(`${folder}/${path} ${sha256}`);
  }
  return 0;
}

async function llama(signal: AbortSignal): Promise<number> {
  const folder = join(repository, llamaModules.folder);
  const [modules, { model }] = await Promise.all([nodeModules(llamaModules, signal), weights(smollm2, signal)]);
  await run('tar', ['-C', folder, '-xf', modules.file], { signal });
  await stageContext([{ ...model, path: `dist/weights/${basename(model.file)}`, mode: 0o644 }], folder);
  return 0;
}

async function runner(signal: AbortSignal): Promise<number> {
  for (const arch of ['amd64', 'arm64'] as const) {
    const { file, sha256 } = await runnerBinary(arch, signal);
    console.log(`${arch} ${sha256} ${mebibytes(await bytesOf(file))}`);
  }
  return 0;
}

async function list(): Promise<number> {
  console.log(renderList(await listImages()));
  return 0;
}

async function prune(): Promise<number> {
  const removed = await pruneImages();
  for (const dir of removed) console.log(dir);
  return 0;
}

async function main(argv: readonly string[], signal: AbortSignal): Promise<number> {
  const { values, positionals } = parseArgs({
    args: [...argv],
    options: { json: { type: 'boolean', default: false } },
    allowPositionals: true,
  });
  const [verb, ...names] = positionals;
  const verbs: Readonly<Record<string, () => Promise<number>>> = {
    build: () => build(names, values.json, signal),
    list,
    reproduce: () => reproduceImages(names, signal),
    stage: () => stage(signal),
    llama: () => llama(signal),
    runner: () => runner(signal),
    prune,
  };
  const chosen = verbs[verb ?? ''];
  if (chosen !== undefined) return chosen();
  console.error(usage);
  return 2;
}

const stop = new AbortController();
for (const name of ['SIGINT', 'SIGTERM'] as const) process.once(name, () => stop.abort(new Error(`stopped by ${name}`)));
try {
  process.exitCode = await main(process.argv.slice(2), stop.signal);
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}
