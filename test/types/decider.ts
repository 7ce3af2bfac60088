// Compiling this file is the test: each promise that the types make is broken once, and the compiler must say so.

import { refuse } from '../../src/base/errors.ts'
import type { Decider } from '../../src/commands/decider.ts'
import { type Token, type TokenCommands, token } from '../../src/commands/token.ts'
import type { TokenEvent } from '../../src/events/token.ts'
import type { Projection } from '../../src/projections/projection.ts'
import { type TokenDoc, tokens } from '../../src/projections/tokens.ts'

const { TokenExpired: _evolve, ...someEvolve } = token.evolve
const { CleanUpToken: _decide, ...someDecide } = token.decide
const { TokenExpired: _on, ...someOn } = tokens.on

// @ts-expect-error an event that the decider does not evolve is refused
export const forgotEvolve: Decider<Token, TokenCommands, TokenEvent> = { ...token, evolve: someEvolve }
// @ts-expect-error a command that the decider does not decide is refused
export const forgotDecide: Decider<Token, TokenCommands, TokenEvent> = { ...token, decide: someDecide }
// @ts-expect-error an event that a projection forgot is refused
export const forgotOn: Projection<TokenDoc, TokenEvent> = { ...tokens, on: someOn }
// @ts-expect-error an event with data of another shape is refused
export const wrongData: TokenEvent = { type: 'TokenRevoked', data: { id: 1 } }
// @ts-expect-error a reason that stands in no catalogue is refused
export const wrongReason = () => refuse('because')
