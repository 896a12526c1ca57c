import { sampledCrashes } from './sampled.ts';
import { degraded } from './scenarios/degraded.ts';

sampledCrashes('no GPU twice and nothing without consent', degraded, 6);
