import type { KeyObject } from 'node:crypto'
import type { Clock } from '../../base/clock.ts'
import { fail } from '../../base/failure.ts'
import type { Say } from '../../base/progress.ts'
import { ledger as decider, LEDGER_ID } from '../../commands/deployment.ts'
import type { Config } from '../../config/load.ts'
import type { DataOf } from '../../events/define.ts'
import type { LedgerEvent } from '../../events/deployment.ts'
import { type LedgerOfLog, ledgerOfLog } from '../../ledger/ledger-of-log.ts'
import { type LedgerPorts, newSigningKey, type SigningKeys } from '../../ledger/signing-keys.ts'
import { tellerOf, withHistory } from '../offline/opened-stores.ts'
import { operatorCommand } from '../stores/operator-command.ts'
import type { History } from '../stores/stores.ts'
import { vkeyFor } from './first-start.ts'
import { attemptOnStores, stateOfStores } from './state-of-stores.ts'

/** Maximum attempts in races with running instances. */
const ATTEMPTS = 4
const REASON = 'rollcall ledger rotate-key'

type Change = DataOf<LedgerEvent, 'SigningKeyChanged'>
type OnStores = Pick<History, 'log' | 'ledger' | 'alone' | 'pepper'>

const isKeyOf = async (read: SigningKeys['read'], { origin, keys }: LedgerOfLog): Promise<boolean> => {
  const key = await read()
  return key !== undefined && vkeyFor(origin, key) === keys.at(-1)!.vkey
}

/** True if the log records a change of the key that is not complete. */
const isChanging = async ({ keys }: LedgerPorts, of: LedgerOfLog): Promise<boolean> =>
  of.keys.length > 1 && !(await isKeyOf(keys.read, of)) && (await isKeyOf(keys.next, of))

/** Stores the next key, and records the change. The ledger must be able to sign before. */
const begin = async (
  history: OnStores,
  clock: Clock,
  { ledger, origin, keys: known }: LedgerOfLog,
  compromised: boolean,
  record: (change: Change) => Promise<unknown>,
): Promise<KeyObject> => {
  const { keys } = await history.ledger()
  if (!(await keys.read()))
    fail('conflict', 'There is no signing key here.', 'Use the host and the configuration that name the key file.')
  const { state, why } = await stateOfStores(history, clock)
  if (why !== undefined)
    fail('check', `The ledger is ${state}: ${why}.`, 'Use first: rollcall ledger resume or restart')
  const next = newSigningKey()
  await keys.prepare(next)
  await record({ ledger, from: known.at(-1)!.vkey, to: vkeyFor(origin, next), compromised })
  return next
}

/**
 * Changes the signing key of stores. The order is: next key, event, checkpoint with both signatures, key. A repeated
 * call completes a change that a crash interrupted after the event, as the next start does.
 */
export const changeSigningKey = async (
  history: OnStores,
  clock: Clock,
  compromised: boolean,
  record: (change: Change) => Promise<unknown>,
): Promise<{ readonly vkey: string; readonly isContinued: boolean }> => {
  const ports = await history.ledger()
  const read = async () =>
    (await ledgerOfLog(history.log)) ?? fail('conflict', 'The log names no ledger.', 'Start the service once.')
  const before = await read()
  const isContinued = await isChanging(ports, before)
  if (isContinued && before.keys.at(-2)!.compromised !== compromised)
    fail(
      'conflict',
      `The change that was interrupted is one ${compromised ? 'without' : 'with'} --compromised.`,
      'Complete it first: use the command as before.',
    )
  const own = isContinued ? undefined : await begin(history, clock, before, compromised, record)
  const of = await read()
  if (own && vkeyFor(of.origin, own) !== of.keys.at(-1)!.vkey)
    fail(
      'conflict',
      'Another change of the signing key was faster.',
      'Use the command again, if you need a further one.',
    )
  for (let tries = 0; tries < ATTEMPTS && !(await isKeyOf(ports.keys.read, of)); tries++) {
    // A second operator may have replaced the next key before the event.
    if (own && !(await isKeyOf(ports.keys.next, of))) await ports.keys.prepare(own)
    const { outcome } = await attemptOnStores(history, clock, true)
    if (outcome?.obstacle) fail('check', `The ledger is ${outcome.obstacle.state}: ${outcome.obstacle.why}.`)
  }
  if (!(await isKeyOf(ports.keys.read, of)))
    fail('unavailable', 'The change of the signing key is recorded, but not complete.', 'Use the command again.')
  return { vkey: of.keys.at(-1)!.vkey, isContinued }
}

/** Replaces the signing key of the ledger. */
export const rotateLedgerKey = (config: Config, clock: Clock, compromised: boolean, say: Say) =>
  withHistory(config, clock, say, (history) =>
    changeSigningKey(history, clock, compromised, (change) =>
      operatorCommand(history.log, clock, tellerOf(say), REASON, [decider, LEDGER_ID, 'ChangeSigningKey', change]),
    ),
  )
