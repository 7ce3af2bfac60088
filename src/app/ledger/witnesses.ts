import { trustIn } from '../../auth/outgoing/authority.ts'
import { isLoopback } from '../../auth/outgoing/hosts.ts'
import type { outgoing } from '../../auth/outgoing/outgoing.ts'
import { codesOf, ownFaultOf, safeCause } from '../../auth/safe-cause.ts'
import type { Config } from '../../config/load.ts'
import type { SendToWitness, Witness } from '../../ledger/witness/submission.ts'
import type { WitnessSettings } from '../../ledger/witness/witnesses.ts'
import { keyNamed, parseVkey } from '../../verifier/note/vkey.ts'
import { reachOf, USER_AGENT } from '../auth/login-methods.ts'
import type { Core } from '../core/core.ts'
import type { Logger } from '../telemetry/logger.ts'

/** Timeout in ms of a request, and maximum size of its answer in bytes. */
const [TIMEOUT_MS, ANSWER_BYTES] = [5_000, 16_384]
/** Results of submissions, in the order of the metrics page. */
const RESULTS = ['ok', 'error', 'conflict', 'diverged'] as const

/** Cause of a failed request, without texts of the witness. */
const causeOf = (error: unknown): Error => {
  if (ownFaultOf(error)) return safeCause(error)
  const { names, codes } = codesOf(error)
  if (names.includes('TimeoutError')) return new Error(`no answer within ${TIMEOUT_MS / 1000} s`)
  return new Error(`unreachable: ${codes.at(-1) ?? safeCause(error).message}`)
}

const senderOf = (config: Config, { clock }: Pick<Core, 'clock'>): SendToWitness => {
  const settings = {
    ...reachOf(config, {}),
    mayBeHttp: isLoopback,
    clock,
    userAgent: USER_AGENT,
    limit: TIMEOUT_MS,
    most: ANSWER_BYTES,
    trust: trustIn(undefined),
  }
  let send: ReturnType<typeof outgoing> | undefined
  return async ({ method, url, body }, signal) => {
    send ??= (await import('../../auth/outgoing/outgoing.ts')).outgoing(settings)
    const headers: Readonly<Record<string, string>> =
      body === undefined ? {} : { 'content-type': 'text/plain; charset=utf-8' }
    try {
      // A checkpoint may be submitted again: the witness then returns the size that it holds.
      const answer = await send({ url, method, headers, body, signal, repeatable: true })
      const { status, headers: received } = answer
      return { status, contentType: received['content-type'] ?? '', text: answer.body.toString() }
    } catch (error) {
      throw causeOf(error)
    }
  }
}

/** Logs each change in the outcome of a witness. */
const outcomeLog = (logger: Pick<Logger, 'info' | 'warn'>): WitnessSettings['onOutcome'] => {
  const failing = new Map<string, string>()
  return ({ url }, outcome) => {
    const why = 'why' in outcome ? outcome.why : undefined
    if (failing.get(url) === why) return
    if (why === undefined) {
      failing.delete(url)
      logger.info({ witness: url }, 'the witness signs checkpoints again')
    } else {
      failing.set(url, why)
      logger.warn({ witness: url, why }, 'the witness did not sign the checkpoint; the next one is submitted again')
    }
  }
}

const witnessOf = ({ url, vkey, monitor = url }: Config['history']['ledger']['witnesses'][number]): Witness => {
  const { name, publicKey } = parseVkey(vkey)!
  return { url, monitor, vkey, key: keyNamed(name, publicKey, 'cosignature') }
}

/** The witnesses of the configuration, with their requests, metric and log. */
export const witnessesOf = (
  config: Config,
  core: Pick<Core, 'clock' | 'metrics'>,
  logger: Pick<Logger, 'info' | 'warn'>,
): WitnessSettings => {
  const list = config.history.ledger.witnesses.map(witnessOf)
  const hostOf = ({ url }: Witness) => new URL(url).host
  // An alert on the first error needs a counter that began at 0.
  const hosts = [...new Set(list.map(hostOf))]
  const counts = hosts.flatMap((host) => RESULTS.map((result) => ({ host, result, value: 0 })))
  core.metrics.count(
    'ledger_witness_total',
    'Submissions of checkpoints to witnesses, by result.',
    ['witness', 'result'],
    () => counts.map(({ host, result, value }) => ({ labels: [host, result], value })),
  )
  const log = outcomeLog(logger)
  return {
    list,
    send: senderOf(config, core),
    onOutcome: (witness, outcome) => {
      counts.find(({ host, result }) => host === hostOf(witness) && result === outcome.result)!.value++
      log(witness, outcome)
    },
  }
}
