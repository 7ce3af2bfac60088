import { type KeyObject, randomBytes } from 'node:crypto'
import type { Clock } from '../../base/clock.ts'
import { fail } from '../../base/failure.ts'
import type { Say } from '../../base/progress.ts'
import { ledger as decider, LEDGER_ID } from '../../commands/deployment.ts'
import type { Config } from '../../config/load.ts'
import type { DataOf } from '../../events/define.ts'
import type { LedgerEvent } from '../../events/deployment.ts'
import type { EventLog } from '../../events/log.ts'
import { type LedgerOfLog, ledgerOfLog } from '../../ledger/ledger-of-log.ts'
import {
  type LedgerPorts,
  newSigningKey,
  replaceSealed,
  type SealedCopies,
  type SigningKeys,
} from '../../ledger/ledger-store.ts'
import { compareWithKept, keptInStore, notExtending, treeOfPages } from '../../ledger/log-comparison.ts'
import { logTree } from '../../ledger/log-tree.ts'
import { isObstacle, type Obstacle, orObstacle } from '../../ledger/obstacle.ts'
import { scrubResult } from '../../ledger/scrub.ts'
import {
  insistOnSeal,
  newestSigned,
  type RecordMacs,
  recordMacs,
  type Seal,
  sealsOf,
} from '../../ledger/signed-records.ts'
import { tileMacs } from '../../ledger/tiles/tile-macs.ts'
import { parseCheckpoint } from '../../verifier/note/checkpoint.ts'
import { tellerOf, withHistory } from '../offline/opened-stores.ts'
import { operatorCommand } from '../stores/operator-command.ts'
import type { History } from '../stores/stores.ts'
import { emptyRecord, vkeyFor } from './first-start.ts'
import { attemptOnStores, type LedgerReport, stateOfStores } from './state-of-stores.ts'

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

/** The copies of the sealed record; fails with exit code 3 if one is unreadable. */
const readableCopies = async ({ store }: Pick<LedgerPorts, 'store'>): Promise<SealedCopies> => {
  const copies = await orObstacle(store.sealed)
  return isObstacle(copies) ? fail('check', `${copies.why}.`, 'Restore that file, or move it away.') : copies
}

/** All that was signed or intended for a ledger, as far as the store proves it. Forged records do not count. */
const knownSeals = async (
  { store }: LedgerPorts,
  copies: SealedCopies,
  of: LedgerOfLog,
  macs: RecordMacs,
): Promise<readonly Seal[]> => {
  const witnessed = Object.values(copies).flatMap((record) => (record.witnessed ? [record.witnessed] : []))
  return [...sealsOf(copies, of, macs).seals, ...witnessed, ...(await newestSigned(store, of)).signed]
}

/** State of the ledger, as an instance that starts on these stores has it. */
export const ledgerStatus = (config: Config, clock: Clock, say: Say): Promise<LedgerReport> =>
  withHistory(config, clock, say, (history) => stateOfStores(history, clock))

/**
 * Makes a retained checkpoint the sealed record. The log must extend it, and everything that the store knows to be
 * signed: so no size is signed again with another root. Returns the sealed size, and the size of the log.
 */
export const resumeLedger = (
  config: Config,
  clock: Clock,
  { text, name }: { readonly text: string; readonly name: string },
  say: Say,
) =>
  withHistory(config, clock, say, async (history) => {
    const { log } = history
    const ports = await history.ledger()
    const of = (await ledgerOfLog(log)) ?? fail('conflict', 'The log names no ledger.', 'Start the service once.')
    const { size, root } = insistOnSeal(text, of, name)
    const copies = await readableCopies(ports)
    const known = await knownSeals(ports, copies, of, recordMacs(history.pepper.key))
    const tree = await treeOfPages(log.readAll(0n), [size, ...known.map((each) => each.size)])
    for (const sealed of [{ size, root }, ...known]) {
      const why = notExtending(tree.size, tree.roots.get(sealed.size), sealed)
      if (why)
        fail('check', `The ledger cannot be resumed: ${why}.`, 'Restore the whole log, or use: rollcall ledger restart')
    }
    const largest = known.find((each) => each.size > size)
    if (largest)
      fail(
        'check',
        `The ledger has sealed ${largest.size} events, but ${name} covers ${size}.`,
        'Give a newer checkpoint, or use: rollcall ledger restart',
      )
    const sealedAt = clock.now().toISOString()
    await ports.store.dropTiles()
    await ports.store.writeScrub({ at: sealedAt, through: tree.size, ok: true })
    await ports.store.keep({ size, root, text, sealedAt, keep: true })
    const record = { ledger: of.ledger, origin: of.origin, size, root, text, sealedAt, keep: true }
    if (!(await replaceSealed(ports.store, copies.stored, record)))
      fail('conflict', 'A running instance sealed at the same time.', 'Use the command again.')
    return { size, events: tree.size }
  })

type Restart = { readonly reason: string; readonly last: string | undefined }

/** Completes a restart that the log records: a new sealed record, then the new key. */
const complete = async ({ store, keys }: LedgerPorts, { ledger, origin }: LedgerOfLog, now: Date): Promise<void> => {
  const copies = await readableCopies({ store })
  const key = (await keys.next()) ?? (await keys.open())
  if (!copies.stored || Object.values(copies).some((copy) => copy.ledger !== ledger))
    await store.startOver(emptyRecord(ledger, origin, key, now))
  await keys.promote()
}

/** True if a crash has interrupted a restart after its event: the log names the key that is not in use yet. */
const isInterrupted = async ({ keys }: LedgerPorts, of: LedgerOfLog | undefined): Promise<boolean> => {
  // A key that is unreadable is replaced.
  const usable = (key: KeyObject | Obstacle | undefined) => (key && isObstacle(key) ? undefined : key)
  const [next, key] = [usable(await orObstacle(keys.next)), usable(await orObstacle(keys.read))]
  if (!of || !next || key?.equals(next)) return false
  return vkeyFor(of.origin, next) === of.keys.at(-1)!.vkey && of.keys.length === 1
}

const recordRestart = async (
  { log }: Pick<History, 'log'>,
  clock: Clock,
  ports: LedgerPorts,
  previousOrigin: string,
  { reason, last }: Restart,
  listeners: ReturnType<typeof tellerOf>,
): Promise<void> => {
  const ledger = randomBytes(4).toString('hex')
  const origin = `${previousOrigin.slice(0, previousOrigin.lastIndexOf('/'))}/${ledger}`
  const key = newSigningKey()
  await ports.keys.prepare(key)
  const lastCheckpoint = last ?? (await newestSigned(ports.store, await ledgerOfLog(log))).signed[0]?.text
  const data = {
    ledger,
    origin,
    vkey: vkeyFor(origin, key),
    previousOrigin,
    reason,
    ...(lastCheckpoint !== undefined && { lastCheckpoint }),
  }
  await operatorCommand(log, clock, listeners, reason, [decider, LEDGER_ID, 'RestartLedger', data])
}

/**
 * Begins a new ledger over the log. The order is: next key, event, sealed record, key. A repeated call completes one
 * that a crash interrupted after the event.
 */
export const restartOn = async (
  log: EventLog,
  ports: LedgerPorts,
  clock: Clock,
  { reason, last }: Restart,
  say: Say,
) => {
  const before = await ledgerOfLog(log)
  const isContinued = await isInterrupted(ports, before)
  if (!isContinued) {
    const [sealed] = Object.values(await readableCopies(ports))
    const previous =
      before?.origin ?? sealed?.origin ?? fail('conflict', 'The log names no ledger.', 'Start the service once.')
    if (last !== undefined && parseCheckpoint(last)?.origin !== previous)
      fail('check', `The checkpoint of --last is not one of the ledger ${previous}.`)
    await recordRestart({ log }, clock, ports, previous, { reason, last }, tellerOf(say))
  }
  const of = (await ledgerOfLog(log))!
  await complete(ports, of, clock.now())
  return { origin: of.origin, vkey: of.keys.at(-1)!.vkey, isContinued }
}

/** Begins a new ledger over the log of stores. */
export const restartLedger = (config: Config, clock: Clock, restart: Restart, say: Say) =>
  withHistory(config, clock, say, async ({ log, ledger }) => restartOn(log, await ledger(), clock, restart, say))

/** Makes the kept hashes from the log. Returns their first difference, and that of the sealed record. */
export const rebuildLedger = (config: Config, clock: Clock, say: Say) =>
  withHistory(config, clock, say, async (history) => {
    const { log, pepper } = history
    const { store } = await history.ledger()
    const macs = tileMacs(pepper.key)
    const of = await ledgerOfLog(log)
    const records = Object.values(await readableCopies({ store })).filter(({ ledger }) => ledger === of?.ledger)
    const sealed = records.toSorted((a, b) => b.size - a.size)[0]
    const { difference, ...tree } = await compareWithKept(
      log.readAll(0n),
      await keptInStore(store, macs, records, false),
      sealed ? [sealed.size] : [],
    )
    await store.dropTiles()
    const made = logTree({ log, store, macs, positionOf: async () => 0n, writes: () => true, sealed: async () => [] })
    await made.advance(await log.head(), new AbortController().signal)
    const why = sealed && notExtending(tree.size, tree.roots.get(sealed.size), sealed)
    const found = { ...(difference && { difference }), ...(why && { sealed: why }) }
    const damage = difference ?? (why === undefined ? undefined : {})
    await store.writeScrub(scrubResult(await store.scrubbed(), clock.now(), tree.size, damage))
    return { events: tree.size, ...found }
  })
