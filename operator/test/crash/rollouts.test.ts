import { sampledCrashes } from './sampled.ts';
import { rollouts } from './scenarios/rollouts.ts';

sampledCrashes('and counted exactly', rollouts, 8);
