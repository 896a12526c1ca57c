/** The HTTP face: routes, checks of requests, errors. */
export { createApp } from './app.ts';
export { answerRefusals, guard } from './guard.ts';
