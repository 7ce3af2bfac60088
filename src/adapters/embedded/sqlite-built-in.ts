/** SQLite of Node.js, if this version has it. Omits the warning that Node.js prints in each thread that loads it. */
export const builtInSqlite = (): unknown => {
  const emitWarning = process.emitWarning.bind(process)
  process.emitWarning = () => undefined
  try {
    return process.getBuiltinModule('node:sqlite' as 'fs')
  } finally {
    process.emitWarning = emitWarning
  }
}
