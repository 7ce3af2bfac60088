import { Type } from 'typebox'
import { AnyObject, named, type Shown, Text } from './answer.ts'
import { text } from './readers/fields.ts'
import { query } from './readers/input.ts'

/** Liveness, readiness and health (api.md §11). */
export const Liveness = named('Liveness', { status: Type.Literal('ok') })
export const Readiness = named('Readiness', {
  status: Type.Enum(['ready', 'not_ready']),
  checks: Type.Optional(Type.Array(named('Check', { name: Text, status: Type.Enum(['ok', 'degraded', 'failed']) }))),
})
export type Readiness = Shown<typeof Readiness>
export const Health = named('Health', { status: Type.Enum(['SERVING', 'NOT_SERVING']) })
export type Health = Shown<typeof Health>
export const healthQuery = query({ service: text({ stored: false }) })

/** Version and configuration summary of this deployment. */
export const Info = named('Info', {
  version: Text,
  latestVersion: Text,
  commit: Text,
  buildDate: Text,
  nodeVersion: Text,
  updateAvailable: Type.Boolean(),
  isRelease: Type.Boolean(),
  os: Text,
  arch: Text,
  authentication: Type.Object({ required: Type.Boolean() }),
  storage: Type.Object({ type: Text, readOnly: Type.Boolean() }),
  analytics: Type.Object({ enabled: Type.Boolean() }),
  ui: Type.Object({ theme: Text, topbarColor: Text }),
})
export type Info = Shown<typeof Info>
export const Configuration = AnyObject
