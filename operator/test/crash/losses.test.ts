import { sampledCrashes } from './sampled.ts';
import { losses } from './scenarios/losses.ts';

sampledCrashes('a GPU is lost and comes back', losses, 6);
