import { reservation, reservations } from './scenarios/reservation.ts';
import { crashSuite } from './suite.ts';

// The long course has twice the writes, and takes four times as long.
crashSuite('GPUs that are held', process.env['AGENTFLEET_FULL'] === '1' ? [...reservation, ...reservations] : reservation);
