import type { FastifyReply, FastifyRequest } from 'fastify'
import type { ByteBudget, Lease } from '../../byte-budget.ts'
import { takerOf } from './caller.ts'

/** What all requests may hold in memory together (docs/decisions/0034). */
export type Budgets = { readonly answers: ByteBudget; readonly bodies: ByteBudget }

declare module 'fastify' {
  interface FastifyRequest {
    /** What the answer of this request takes of the budget; undefined for a small one. */
    room: Lease | undefined
  }
  interface FastifyInstance {
    budgets: Budgets
  }
}

/** What is no larger is not counted: each connection has one of them. */
export const SMALL = 16_384

/** Calls back once, when the answer has left or its client has. An answer that waits behind another on its connection hears only of the socket. */
const whenOver = (request: FastifyRequest, { raw }: FastifyReply, work: () => void): void => {
  const { socket } = request.raw
  if (socket.destroyed) return work()
  const over = (): void => {
    raw.off('close', over)
    socket.off('close', over)
    work()
  }
  raw.on('close', over)
  socket.on('close', over)
}

/** Whose answer takes room. */
export type Of = { readonly request: FastifyRequest; readonly reply: FastifyReply }

const keep = ({ request, reply }: Of, lease: Lease): void => {
  request.room = lease
  whenOver(request, reply, lease.free)
}

/** Takes room for an answer before it is made: nothing to wait for, or its turn. Who finds none is refused with `busy`. */
export const takeRoom = (of: Of, bytes: number): Promise<void> | undefined => {
  const { request } = of
  if (bytes <= SMALL || request.room) return undefined
  const { answers } = request.server.budgets
  const lease = answers.take(takerOf(request), bytes)
  if (lease instanceof Promise) return lease.then((taken) => keep(of, taken))
  keep(of, lease)
  return undefined
}

/** What a page of a list takes beforehand. One that comes to more takes more where there is room, and else ends there. */
const PAGE = 1_048_576

/** Takes room for a page of a list before it is made. */
export const takePage = (of: Of): Promise<void> | undefined => takeRoom(of, PAGE)

/**
 * Takes the room that an answer needs which is made. One that finds more than it took beforehand is refused with `busy`, but for the
 * answer of a write: what was done is told.
 */
export const fitRoom = (of: Of, bytes: number): Promise<void> | undefined => {
  const { request } = of
  const { room, spec } = request
  const { answers } = request.server.budgets
  if (!room && (bytes <= SMALL || !spec?.writes)) return takeRoom(of, bytes)
  if (!room) keep(of, answers.hold(takerOf(request), bytes))
  else if (spec?.writes) room.hold(bytes)
  else if (!room.resize(bytes)) throw answers.busy()
  return undefined
}

/** Whether the room that an answer took beforehand is enough for so many bytes, or is made so. One that took none may be as large as it is. */
export const hasRoomFor = ({ room }: Pick<FastifyRequest, 'room'>, bytes: number): boolean =>
  room === undefined || bytes <= room.bytes() || room.resize(bytes)

/** Counts a body as it arrives, until its request is answered: false where there is no room for so many bytes of it. */
export const bodyRoom = (of: Of): ((bytes: number) => boolean) => {
  const { request, reply } = of
  const { bodies } = request.server.budgets
  let lease: Lease | undefined
  return (bytes) => {
    if (bytes <= SMALL) return true
    if (lease) return lease.resize(bytes)
    lease = bodies.takeNow(takerOf(request), bytes)
    if (lease) whenOver(request, reply, lease.free)
    return lease !== undefined
  }
}
