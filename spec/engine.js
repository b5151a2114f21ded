// Drives Quint's own parser and evaluator (its TypeScript engine) over a specification:
//
//   node engine.js traces  MODULE FILE --traces N --steps N --seed N     random runs, one trace a line, in ITF (JSON)
//   node engine.js check   MODULE FILE --traces N --steps N --seed N --properties a,b   random runs, properties after each step
//   node engine.js explore MODULE FILE --depth N --states N --properties a,b            every state within some steps
//   node engine.js mutants MODULE FILE --properties a,b --traces N --steps N   as check, for each {name, text, by} on stdin
//   node engine.js judge   MODULE FILE    sets variables and tells definitions, line by line on stdin and stdout
//
// `quint run` keeps whole runs in memory and writes one file for each; `quint verify` needs Apalache, which is fetched from
// the net when it is first used. The evaluator behind both is what runs here. Exploration asks it for every random choice
// in turn, so that each successor of a state is found by the step action itself.
'use strict'
const fs = require('fs')
const path = require('path')

const QUINT = path.join(path.dirname(require.resolve('@informalsystems/quint/package.json')), 'dist', 'src')
const load = name => require(path.join(QUINT, name))
const frontend = load('parsing/quintParserFrontend')
const { fileSourceResolver } = load('parsing/sourceResolver')
const { newIdGenerator } = load('idGenerator')
const { walkExpression } = load('ir/IRVisitor')
const { Context } = load('runtime/impl/Context')
const { Builder, buildExpr } = load('runtime/impl/builder')
const { noExecutionListener } = load('runtime/trace')
const { quintErrorToString } = load('quintError')
const { ofItfValue } = load('itf')
const { rv } = load('runtime/impl/runtimeValue')
const { right } = require('@sweet-monads/either')

/** A parsed module, and functions from its expressions to values. */
class Specification {
  constructor(moduleName, file, text) {
    this.file = path.resolve(file)
    this.idGen = newIdGenerator()
    text ??= fs.readFileSync(this.file, 'utf8')
    const sources = new Map([[this.file, text]])
    const resolver = fileSourceResolver(sources)
    const mainPath = resolver.lookupPath(path.dirname(this.file), path.basename(this.file))
    const phase1 = frontend.parsePhase1fromText(this.idGen, text, this.file)
    const phase2 = frontend.parsePhase2sourceResolution(this.idGen, resolver, mainPath, phase1)
    const phase3 = frontend.parsePhase3importAndNameResolution(phase2)
    this.parsed = frontend.parsePhase4toposort(phase3)
    if (this.parsed.errors.length > 0) throw new Error(this.parsed.errors.map(quintErrorToString).join('\n'))
    this.parsed.resolver.switchToModule(moduleName)
    this.builder = new Builder(this.parsed.table, false)
    this.ctx = new Context(noExecutionListener, bound => this.random(bound), this.builder.varStorage)
    this.random = randomNumbers(1)
  }

  /** The expression as a function without arguments, evaluated in the current state. */
  expression(text) {
    const result = frontend.parseExpressionOrDeclaration(text, '<input>', this.idGen, this.parsed.sourceMap)
    if (result.kind !== 'expr') throw new Error(`no expression: ${text} ${(result.errors ?? []).map(quintErrorToString)}`)
    walkExpression(this.parsed.resolver, result.expr)
    if (this.parsed.resolver.errors.length > 0) throw new Error(quintErrorToString(this.parsed.resolver.errors[0]))
    const evaluate = buildExpr(this.builder, result.expr)
    return () => {
      const value = evaluate(this.ctx)
      if (value.isLeft()) throw new Error(`${text}: ${quintErrorToString(value.value)}`)
      return value.value
    }
  }

  registers() {
    return [...this.builder.varStorage.vars.values()]
  }

  state() {
    return this.registers().map(register => register.value)
  }

  restore(values) {
    const storage = this.builder.varStorage
    let i = 0
    for (const register of storage.vars.values()) register.value = values[i++]
    storage.nextVars.forEach(register => (register.value = undefinedNext))
    storage.clearCaches()
  }

  shift() {
    this.builder.varStorage.shiftVars()
  }

  /** What a state is in ITF, without the variables named. */
  itf(hidden) {
    const parts = []
    for (const register of this.registers()) {
      const name = register.name.split('::').pop()
      if (!hidden.has(name)) parts.push(`${JSON.stringify(name)}:${json(register.value.value)}`)
    }
    return parts.sort().join(',')
  }
}
const undefinedNext = load('runtime/impl/VarStorage').initialRegisterValue('next')

const known = new WeakMap()
/** A value in ITF; sets and maps in one order, so that equal values have equal texts. */
function json(value) {
  let text = known.get(value)
  if (text === undefined) known.set(value, (text = asJson(value)))
  return text
}
function asJson(value) {
  const kind = value.constructor.name
  switch (kind) {
    case 'RuntimeValueBool':
      return value.value ? 'true' : 'false'
    case 'RuntimeValueInt':
      return value.value < 1n << 53n ? String(value.value) : `{"#bigint":"${value.value}"}`
    case 'RuntimeValueStr':
      return JSON.stringify(value.value)
    case 'RuntimeValueTupleOrList': {
      const parts = [...value.list].map(json).join(',')
      return value.kind === 'Tup' ? `{"#tup":[${parts}]}` : `[${parts}]`
    }
    case 'RuntimeValueRecord': {
      const parts = []
      value.map.forEach((field, key) => parts.push(`${JSON.stringify(key)}:${json(field)}`))
      return `{${parts.sort().join(',')}}`
    }
    case 'RuntimeValueMap': {
      const parts = []
      value.map.forEach((item, key) => parts.push(`[${json(key)},${json(item)}]`))
      return `{"#map":[${parts.sort().join(',')}]}`
    }
    case 'RuntimeValueVariant':
      return `{"tag":${JSON.stringify(value.label)},"value":${json(value.value)}}`
    default:
      return `{"#set":[${[...value].map(json).sort().join(',')}]}`
  }
}

function options(words) {
  const found = {}
  for (let i = 0; i < words.length; i += 2) found[words[i].replace(/^--/, '')] = words[i + 1]
  return found
}

function begin(spec, init) {
  spec.builder.varStorage.reset()
  if (!init().toBool()) throw new Error('init is not enabled')
  spec.shift()
}

/** The first property that does not hold here, if any. */
function broken(properties) {
  return properties.find(([, holds]) => !holds().toBool())?.[0]
}

const propertiesOf = (spec, given) =>
  (given.properties ?? '').split(',').filter(Boolean).map(name => [name, spec.expression(name)])

/** Numbers below a bound, from 32 bits of state (mulberry32): Quint's own generator computes with big integers. */
function randomNumbers(seed) {
  let state = Math.imul(seed + 1, 0x9e3779b1)
  return bound => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return BigInt((mixed ^ (mixed >>> 14)) >>> 0) % bound
  }
}

/** Random runs; each one's seed is its own, so that a run can be repeated alone. */
function* runs(spec, given) {
  const init = spec.expression(given.init ?? 'init')
  const step = spec.expression(given.step ?? 'step')
  const first = BigInt(given.seed ?? 0)
  for (let number = 0n; number < BigInt(given.traces ?? 1); number++) {
    spec.random = randomNumbers(Number(first + number))
    begin(spec, init)
    yield { seed: first + number, index: 0 }
    for (let index = 1; index <= Number(given.steps ?? 50); index++) {
      if (!step().toBool()) break
      spec.shift()
      yield { seed: first + number, index }
    }
  }
}

function traces(spec, given) {
  const hidden = new Set((given.hide ?? '').split(',').filter(Boolean))
  const vars = () => JSON.stringify(spec.registers().map(r => r.name.split('::').pop()).filter(n => !hidden.has(n)))
  let states = []
  let seed
  const flush = () => {
    if (states.length > 0) {
      fs.writeSync(1, `{"#meta":{"format":"ITF","source":"${path.basename(spec.file)}","seed":${seed}},"vars":${vars()},"states":[${states.join(',')}]}\n`)
    }
  }
  for (const at of runs(spec, given)) {
    if (at.index === 0) {
      flush()
      states = []
      seed = at.seed
    }
    states.push(`{"#meta":{"index":${at.index}},${spec.itf(hidden)}}`)
  }
  flush()
}

function check(spec, given) {
  const properties = propertiesOf(spec, given)
  let steps = 0
  for (const at of runs(spec, given)) {
    steps++
    const name = broken(properties)
    if (name !== undefined) {
      return { broken: name, seed: Number(at.seed), step: at.index, steps, state: `{${spec.itf(new Set())}}` }
    }
  }
  return { broken: null, steps }
}

/** Every choice sequence of an action from one state: the evaluator asks for a number below a bound, we count through. */
function* successors(spec, action, from) {
  let choices = []
  for (;;) {
    const bounds = []
    spec.random = bound => {
      const place = bounds.length
      bounds.push(bound)
      if (choices.length <= place) choices.push(0n)
      return choices[place]
    }
    if (from !== undefined) spec.restore(from)
    else spec.builder.varStorage.reset()
    if (action().toBool()) {
      spec.shift()
      yield true
    }
    choices = choices.slice(0, bounds.length)
    while (choices.length > 0 && choices[choices.length - 1] + 1n >= bounds[choices.length - 1]) choices.pop()
    if (choices.length === 0) return
    choices[choices.length - 1] += 1n
  }
}

/** Breadth first. Two states are one if they agree in all variables but the hidden ones, which tell only of the last step. */
function explore(spec, given) {
  const hidden = new Set((given.hide ?? '').split(',').filter(Boolean))
  const properties = propertiesOf(spec, given)
  const init = spec.expression(given.init ?? 'init')
  const actions = (given.steps ?? 'step').split(',').map(name => spec.expression(name))
  const limit = Number(given.states ?? 1e9)
  const seen = new Set()
  let transitions = 0
  let level = []
  const visit = next => {
    transitions++
    const key = spec.itf(hidden)
    const isNew = !seen.has(key)
    if (isNew) {
      seen.add(key)
      next.push(spec.state())
    }
    return broken(properties)
  }
  for (const _ of successors(spec, init, undefined)) {
    const name = visit(level)
    if (name !== undefined) return { broken: name, depth: 0, states: seen.size, transitions }
  }
  const levels = [level.length]
  for (let depth = 1; depth <= Number(given.depth ?? 1e9) && level.length > 0; depth++) {
    const next = []
    for (const state of level) {
      if (seen.size >= limit) return { broken: null, complete: false, depth: depth - 1, levels, states: seen.size, transitions }
      for (const action of actions) {
        for (const _ of successors(spec, action, state)) {
          const name = visit(next)
          if (name !== undefined) {
            return { broken: name, depth, states: seen.size, transitions, state: `{${spec.itf(new Set())}}` }
          }
        }
      }
    }
    level = next
    levels.push(level.length)
  }
  return { broken: null, complete: level.length === 0, depth: levels.length - 1, levels, states: seen.size, transitions }
}

/** Lines of {set, property} on stdin; each sets variables (in ITF) and is answered with what the named definitions say. */
function judge(spec) {
  const definitions = new Map()
  const evaluate = name => {
    if (!definitions.has(name)) definitions.set(name, spec.expression(name))
    return definitions.get(name)()
  }
  spec.expression('isAccepted')
  const registers = new Map(spec.registers().map(register => [register.name.split('::').pop(), register]))
  let rest = ''
  const buffer = Buffer.alloc(1 << 16)
  for (;;) {
    const read = fs.readSync(0, buffer)
    if (read === 0) return
    const lines = (rest + buffer.toString('utf8', 0, read)).split('\n')
    rest = lines.pop()
    for (const line of lines) {
      const asked = JSON.parse(line)
      spec.builder.varStorage.clearCaches()
      for (const [name, value] of Object.entries(asked.set)) {
        registers.get(name).value = right(rv.fromQuintEx(ofItfValue(value, () => spec.idGen.nextId())))
      }
      const values = asked.ask.map(name => json(evaluate(name)))
      fs.writeSync(1, `[${values.join(',')}]\n`)
    }
  }
}

/** The specification with one mistake after the other: which property sees it, and when. */
function mutants(moduleName, file, given) {
  const text = fs.readFileSync(file, 'utf8')
  for (const mistake of JSON.parse(fs.readFileSync(0, 'utf8'))) {
    if (text.split(mistake.text).length !== 2) throw new Error(`${mistake.name}: its text is not there once`)
    const spec = new Specification(moduleName, file, text.replace(mistake.text, () => mistake.by))
    const outcome = check(spec, given)
    delete outcome.state
    fs.writeSync(1, JSON.stringify({ name: mistake.name, ...outcome }) + '\n')
  }
}

const [command, moduleName, file, ...rest] = process.argv.slice(2)
const given = options(rest)
const commands = { traces, check, explore, judge }
const outcome =
  command === 'mutants'
    ? mutants(moduleName, file, given)
    : commands[command](new Specification(moduleName, file), given)
if (outcome !== undefined) fs.writeSync(1, JSON.stringify(outcome) + '\n')
