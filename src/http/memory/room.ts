import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import type { FastifyReply, FastifyRequest } from 'fastify'
import type { Clock } from '../../base/clock.ts'
import { Refusal } from '../../base/errors.ts'
import { type FairGate, fairGate, type Lease, type Taker } from '../../base/gate.ts'
import { addressKey } from './address-key.ts'

/** Memory budgets in bytes, each shared by all requests (docs/decisions/0034). */
export type Budgets = { readonly answers: FairGate; readonly bodies: FairGate }

/** Memory budget in bytes. A request that does not fit waits at most 5 s and is then refused with `busy`. */
export const byteBudget = (total: number, clock: Pick<Clock, 'after'>): FairGate =>
  fairGate({
    total,
    each: total / 4,
    waiting: 1024,
    waitingEach: 64,
    within: { clock, ms: 5_000 },
    refused: () => new Refusal('busy'),
  })

declare module 'fastify' {
  interface FastifyRequest {
    /** Share of the answer budget taken by this request; undefined for a small answer. */
    room: Lease | undefined
  }
  interface FastifyInstance {
    budgets: Budgets
  }
}

/** Answers and bodies of at most this many bytes are not counted, because each connection has at most one. */
export const SMALL = 16_384

/** Request and reply of an answer that reserves memory. */
export type Of = { readonly request: FastifyRequest; readonly reply: FastifyReply }

/**
 * Calls back once, after the response is sent or its open connection is closed. The function also listens to the
 * socket, because an answer queued behind another on its connection gets no `close` event.
 */
export const whenSent = (response: ServerResponse, socket: Socket, work: () => void): void => {
  const over = (): void => {
    response.off('close', over)
    socket.off('close', over)
    try {
      work()
    } catch (error) {
      response.emit('error', error)
    }
  }
  response.on('close', over)
  socket.on('close', over)
}

/** Calls back once, after the answer is sent or the client disconnects; at once if the client is gone. */
export const whenOver = ({ request, reply: { raw } }: Of, work: () => void): void => {
  const { socket } = request.raw
  if (socket.destroyed) work()
  else whenSent(raw, socket, work)
}

/**
 * Holder whose share of memory a request uses: the credential, or the address of an anonymous caller. Each address that
 * uses a publishable token has a share of its own.
 */
export const takerOf = ({ caller: { actor, published = false }, address }: FastifyRequest): Taker => {
  const holder = actor.id ?? addressKey(address)
  return published ? { holder: `${holder} ${addressKey(address)}`, published } : { holder, published }
}

const keep = ({ request, reply }: Of, lease: Lease): void => {
  request.room = lease
  whenOver({ request, reply }, lease.free)
}

/**
 * Reserves memory before an answer is created; returns a promise if it must wait for its turn. Refuses with `busy` if
 * no memory is free.
 */
export const takeRoom = (of: Of, bytes: number): Promise<void> | undefined => {
  const { request } = of
  if (bytes <= SMALL || request.room) return undefined
  const { answers } = request.server.budgets
  const lease = answers.take(takerOf(request), bytes)
  if (lease instanceof Promise) return lease.then((taken) => keep(of, taken))
  keep(of, lease)
  return undefined
}

/**
 * Memory that a page of a list reserves in advance, in bytes. A larger page reserves more memory if some is free, else
 * it ends early.
 */
const PAGE = 1_048_576

/** Reserves memory for a page of a list before it is created. */
export const takePage = (of: Of): Promise<void> | undefined => takeRoom(of, PAGE)

/**
 * Reserves the memory that a finished answer needs. Refuses with `busy` if it needs more than it reserved in advance
 * and no more is free. The answer of a write is always sent, because the write has happened.
 */
export const fitRoom = (of: Of, bytes: number): Promise<void> | undefined => {
  const { request } = of
  const { room, spec } = request
  const { answers } = request.server.budgets
  if (!room && (bytes <= SMALL || !spec?.writes)) return takeRoom(of, bytes)
  if (!room) keep(of, answers.hold(takerOf(request), bytes))
  else if (spec?.writes) room.hold(bytes)
  else if (!room.resize(bytes)) throw answers.refusal()
  return undefined
}

/** Bytes of chunks that are being sent, and of the gzip stream. */
export const UNDER_WAY = 131_072
export const PACKING = 262_144

/**
 * True if the memory reserved in advance suffices for an answer of `bytes` and for sending it, or more can be reserved.
 * An answer that reserves no memory has no limit here.
 */
export const hasRoomFor = ({ room }: Pick<FastifyRequest, 'room'>, bytes: number): boolean => {
  const needed = bytes + UNDER_WAY + PACKING
  return room === undefined || needed <= room.weight() || room.resize(needed)
}

/**
 * Counts a body against the budget as it arrives, until its request is answered. The result is false if no memory is
 * free.
 */
export const bodyRoom = (of: Of): ((bytes: number) => boolean) => {
  const { request, reply } = of
  const { bodies } = request.server.budgets
  let lease: Lease | undefined
  return (bytes) => {
    if (bytes <= SMALL) return true
    if (lease) return lease.resize(bytes)
    lease = bodies.takeNow(takerOf(request), bytes)
    if (lease) whenOver({ request, reply }, lease.free)
    return lease !== undefined
  }
}
