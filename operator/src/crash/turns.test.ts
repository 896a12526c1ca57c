import { sampledCrashes } from './sampled.ts';
import { turns } from './scenarios/turns.ts';

sampledCrashes('whoever is awake', turns, 8);
