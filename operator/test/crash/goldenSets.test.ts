import { sampledCrashes } from './sampled.ts';
import { goldenSets } from './scenarios/goldenSets.ts';

sampledCrashes('each Job once', goldenSets, 6);
