import { gpus } from './scenarios/gpus.ts';
import { crashSuite } from './suite.ts';

crashSuite('engines on GPUs', gpus);
