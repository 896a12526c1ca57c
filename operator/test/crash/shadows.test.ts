import { sampledCrashes } from './sampled.ts';
import { shadows } from './scenarios/shadows.ts';

sampledCrashes('and counted exactly', shadows, 4);
