// Calls of Stackmark's workload `@WORKLOAD@`, as a script for k6. Made by stackmark @VERSION@:
//   @COMMAND@
//
//   k6 run -e BASE_URL=http://127.0.0.1:8080 script.js
//
// The server is any that keeps the contract of the workload (spec/openapi/@WORKLOAD@.yaml), over freshly loaded data, for example
// of `stackmark load @WORKLOAD@ --scale @SCALE@ --db sqlite:bench.db`. Each VU has @EACH@ calls of its own and makes them one after the
// other, without a pause: a closed loop.
//   -e VUS=4         VUs, @CLIENTS@ at most, which is also what is used otherwise
//   -e DURATION=60s  for so long, and not once through; a VU that is through begins again
// On data that was used before, by this script or another run, what is there already is declined.
//
// Declined calls (the contract has a problem type for each reason) are counted in `stackmark_declined`, failures in
// `stackmark_failed`; k6's own `http_req_failed` knows only statuses, and is left out. Which versions there are depends on the order
// in which VUs change the same rows, so more changes are declined than in a run of Stackmark, which follows the answers.
//
// What the figures of k6 do not say:
// - A closed loop asks a stalled server less: the calls that would have come meanwhile are missing from the percentiles
//   (coordinated omission). In an open loop they wait for a free VU or are dropped, and k6's times leave that wait out.
// - Stored data is not audited, and answers are not compared: their status and problem type are all that is looked at. A call
//   that the contract declines in an answer of 200 counts as done.
// `stackmark run @WORKLOAD@ --url URL --db URL` says all that.

import { check } from 'k6';
import { SharedArray } from 'k6/data';
import exec from 'k6/execution';
import http from 'k6/http';
import { Counter } from 'k6/metrics';

const BASE_URL = (__ENV.BASE_URL || 'http://127.0.0.1:8080').replace(/\/+$/, '');
const DURATION = __ENV.DURATION;
const WORKLOAD = '@WORKLOAD@';
const SCALE = @SCALE@;
const CLIENTS = @CLIENTS@;
const CALLS_EACH = @EACH@;
const VUS = Number(__ENV.VUS || CLIENTS);
if (!(Number.isInteger(VUS) && VUS >= 1 && VUS <= CLIENTS)) {
  throw new Error(`VUS is ${__ENV.VUS}; this script has calls for 1 to ${CLIENTS} (\`stackmark export k6 --clients\`)`);
}

// Kinds of call: how many there are here, the statuses of one that is done, and whether the contract declines any.
const KINDS = [
@KINDS@
];

// Problem types with which a call has not been completed (spec/openapi/common.yaml). All others say why it was declined.
const PROBLEM = 'urn:stackmark:problem:';
const FAILURES = @FAILURES@;

export const options = {
  scenarios: {
    closed: DURATION
      ? { executor: 'constant-vus', vus: VUS, duration: DURATION }
      : { executor: 'per-vu-iterations', vus: VUS, iterations: CALLS_EACH, maxDuration: '24h' },
    // An open loop in place of it: calls at a rate, whether or not earlier ones were answered.
    // open: {
    //   executor: 'constant-arrival-rate', rate: 100, timeUnit: '1s', duration: '60s', preAllocatedVUs: VUS, maxVUs: VUS,
    // },
  },
  // An empty list makes k6 print the times of a kind by themselves.
  thresholds: {
    ...Object.fromEntries(KINDS.filter((kind) => kind.calls).map((kind) => [`http_req_duration{name:${kind.name}}`, []])),
    // stackmark_failed: ['count==0'],
    // 'http_req_duration{name:@FIRST@}': ['p(99)<50'],
  },
  summaryTrendStats: ['avg', 'min', 'med', 'p(90)', 'p(99)', 'max'],
};

const declined = new Counter('stackmark_declined');
const failed = new Counter('stackmark_failed');
http.setResponseCallback(null);

// The server is the one that the calls are for.
export function setup() {
  const about = http.get(`${BASE_URL}/about`, { tags: { name: 'about' } });
  const said = about.status === 200 ? about.json() : {};
  if (said.workload !== WORKLOAD || said.scale !== SCALE) {
    exec.test.abort(
      `${BASE_URL}/about answers with status ${about.status}, workload ${said.workload} and scale ${said.scale}; `
        + `the calls are for ${WORKLOAD} at scale ${SCALE}`,
    );
  }
}

let mine;
let next = 0;

export default function () {
  mine = mine || prepared(streams[exec.vu.idInTest - 1]);
  const { kind, url, body, params } = mine[next];
  next = (next + 1) % mine.length;

  const answer = http.request(kind.method, url, body, params);
  const why = kind.done.includes(answer.status) ? null : reason(kind, answer);
  if (why) {
    declined.add(1, { name: kind.name, why });
  } else if (why === undefined) {
    failed.add(1, { name: kind.name, status: String(answer.status) });
  }
  check(answer, { 'answered as the contract says': () => why !== undefined }, params.tags);
}

// Why a call was declined; nothing where it failed.
function reason(kind, answer) {
  const type = answer.headers['Content-Type'] || '';
  if (!kind.declines || !type.startsWith('application/problem+json')) {
    return undefined;
  }
  try {
    const problem = answer.json('type');
    const name = String(problem).startsWith(PROBLEM) ? problem.slice(PROBLEM.length) : '';
    return name && !FAILURES.includes(name) ? name : undefined;
  } catch (_) {
    return undefined;
  }
}

// The calls of a VU as k6 takes them. Bodies of answers are read where they may say why a call was declined.
function prepared(stream) {
  return stream.map(([at, path, headers, body]) => {
    const kind = KINDS[at];
    const type = body ? { 'content-type': 'application/json' } : {};
    return {
      kind,
      url: BASE_URL + path,
      body: body || null,
      params: {
        headers: { ...type, ...headers },
        tags: { name: kind.name },
        responseType: kind.declines ? 'text' : 'none',
      },
    };
  });
}

// The calls, those of a VU together: number of the kind, path, headers and body, where there are any.
const streams = new SharedArray('streams', () => [
@CALLS@
]);
