import type { FastifyInstance } from 'fastify'
import type { AuthServices } from './auth.ts'
import type { CommandServices } from './commands.ts'
import type { ErasingServices } from './erasing.ts'
import type { InstanceServices } from './instance.ts'
import type { LoginServices } from './logins.ts'
import type { ReadServices } from './reads.ts'
import type { RecordingServices } from './recording.ts'

/** All services that routes use, by role. A function declares the roles that it needs. */
export type Service = InstanceServices &
  CommandServices &
  ReadServices &
  AuthServices &
  ErasingServices &
  LoginServices &
  RecordingServices

/** Mounts one route, or all routes of one file. */
export type Mount = (app: FastifyInstance, service: Service) => void
