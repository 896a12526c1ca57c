import { sampledCrashes } from './sampled.ts';
import { modelRollouts } from './scenarios/modelRollouts.ts';

sampledCrashes('and counted exactly', modelRollouts, 5);
