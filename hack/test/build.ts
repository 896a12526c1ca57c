// The build stage: everything that later stages use. Reports a warm build that is slower than its budget.
import { readFile } from 'node:fs/promises';
import { startEnvironment } from '../environment/index.ts';

const budget = JSON.parse(await readFile('test/budget.json', 'utf8')) as { stages: { build: { warmMinutes: number } } };

const started = performance.now();
const { cluster, images } = await startEnvironment();
const seconds = (performance.now() - started) / 1000;
const warm = images.every((image) => !image.built);
console.log(
  `${cluster.provider} cluster and ${images.length} images in ${seconds.toFixed(1)} s (images ${warm ? 'from the cache' : 'built'})`,
);
const limit = budget.stages.build.warmMinutes * 60;
if (warm && seconds > limit) console.log(`OVER BUDGET: a warm build may take ${limit} s`);
