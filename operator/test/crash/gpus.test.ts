import { sampledCrashes } from './sampled.ts';
import { canaries } from './scenarios/canaries.ts';
import { gpus } from './scenarios/gpus.ts';
import { crashSuite } from './suite.ts';

crashSuite('engines on GPUs', gpus);

sampledCrashes('no GPU twice', canaries, 8);
