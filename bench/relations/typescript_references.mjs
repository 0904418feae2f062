// Resolve the names in the TypeScript and JavaScript files of a work tree with the TypeScript compiler; print JSON lines.
//
//     TYPESCRIPT=FOLDER node typescript_references.mjs TREE > truth.jsonl
//
// The npm package typescript is taken from the folder that TYPESCRIPT names. Packages that the repository needs must be
// installed in TREE/node_modules: definitions in them are outside the repository.
import fs from "node:fs";
import { createRequire } from "node:module";
import path from "node:path";

const ts = createRequire(path.resolve(process.env.TYPESCRIPT ?? ".", "index.js"))("typescript");
const SOURCES = /(?<!\.d)\.[cm]?[jt]sx?$/;
const SKIPPED = new Set(["node_modules", ".git"]);
const root = fs.realpathSync(process.argv[2]);

function* sources(folder) {
  for (const entry of fs.readdirSync(folder, { withFileTypes: true })) {
    const name = path.join(folder, entry.name);
    if (entry.isDirectory() && !SKIPPED.has(entry.name)) yield* sources(name);
    else if (entry.isFile() && SOURCES.test(entry.name)) yield name;
  }
}

function inside(name) {
  return name.startsWith(root + path.sep) && !name.includes("/node_modules/");
}

/** Group the files by the nearest tsconfig.json above them. */
function projects() {
  const groups = new Map();
  for (const name of sources(root)) {
    let folder = path.dirname(name);
    while (folder !== root && !fs.existsSync(path.join(folder, "tsconfig.json"))) folder = path.dirname(folder);
    groups.set(folder, [...(groups.get(folder) ?? []), name]);
  }
  return groups;
}

function options(folder) {
  const file = path.join(folder, "tsconfig.json");
  const defaults = { target: ts.ScriptTarget.ES2022, module: ts.ModuleKind.NodeNext, esModuleInterop: true };
  const fixed = { allowJs: true, checkJs: false, noEmit: true, skipLibCheck: true, composite: false, incremental: false };
  if (!fs.existsSync(file)) return { ...defaults, ...fixed };
  const read = ts.readConfigFile(file, ts.sys.readFile).config;
  const parsed = ts.parseJsonConfigFileContent({ ...read, files: [], include: undefined }, ts.sys, folder);
  return { ...parsed.options, ...fixed };
}

/** Return whether a declaration is a parameter, or something else that only the function around it can name. */
function isLocal(declaration) {
  if (ts.isSourceFile(declaration)) return false;
  if (ts.isTypeParameterDeclaration(declaration)) return true;
  if (ts.isParameter(declaration)) return !ts.isParameterPropertyDeclaration(declaration, declaration.parent);
  if (ts.isFunctionDeclaration(declaration) || ts.isClassLike(declaration)) return false;
  if (ts.isInterfaceDeclaration(declaration) || ts.isTypeAliasDeclaration(declaration)) return false;
  if (ts.isEnumDeclaration(declaration) || ts.isEnumMember(declaration)) return false;
  if (ts.isClassLike(declaration.parent) || ts.isInterfaceDeclaration(declaration.parent)) return false;
  if (ts.isBinaryExpression(declaration) || ts.isPropertyAccessExpression(declaration)) return false;
  return Boolean(ts.findAncestor(declaration.parent, ts.isFunctionLike));
}

function kindOf(node) {
  const parent = node.parent;
  if (ts.isPropertyAccessExpression(parent) && parent.name === node) return kindOf(parent);
  if (ts.isQualifiedName(parent) && parent.right === node) return kindOf(parent);
  if (ts.isDecorator(parent)) return "decorates";
  if ((ts.isCallExpression(parent) || ts.isNewExpression(parent)) && parent.expression === node)
    return ts.isDecorator(parent.parent) ? "decorates" : "call";
  if (ts.isTaggedTemplateExpression(parent) && parent.tag === node) return "call";
  if ((ts.isJsxOpeningElement(parent) || ts.isJsxSelfClosingElement(parent)) && parent.tagName === node) return "call";
  if (ts.isExpressionWithTypeArguments(parent)) return "inherits";
  if (ts.isTypeReferenceNode(parent) || ts.isTypeQueryNode(parent)) return "type";
  if (isSpecifier(parent)) return "import";
  return "other";
}

function isSpecifier(node) {
  return ts.isImportSpecifier(node) || ts.isImportClause(node) || ts.isNamespaceImport(node) || ts.isExportSpecifier(node);
}

/** Return whether the name stands where it is declared, so that it is no use of anything. */
function isDeclared(node) {
  const parent = node.parent;
  if (ts.isShorthandPropertyAssignment(parent)) return false;
  if (isSpecifier(parent)) return Boolean(parent.propertyName) && parent.name === node;
  return parent.name === node && !ts.isPropertyAccessExpression(parent) && !ts.isMetaProperty(parent);
}

function symbolAt(checker, node) {
  let symbol = ts.isShorthandPropertyAssignment(node.parent)
    ? checker.getShorthandAssignmentValueSymbol(node.parent)
    : checker.getSymbolAtLocation(node);
  if (symbol && symbol.flags & ts.SymbolFlags.Alias) symbol = checker.getAliasedSymbol(symbol);
  return symbol;
}

function place(file, position) {
  const { line, character } = file.getLineAndCharacterOfPosition(position);
  const start = file.getPositionOfLineAndCharacter(line, 0);
  return { line: line + 1, column: [...file.text.slice(start, start + character)].length };
}

function nameOf(declaration) {
  const name = ts.getNameOfDeclaration(declaration) ?? declaration;
  return ts.isPropertyAccessExpression(name) ? name.name : name;
}

function target(declaration) {
  const file = declaration.getSourceFile();
  const where = path.relative(root, file.fileName);
  if (ts.isSourceFile(declaration)) return { path: where, line: 1, name: path.basename(where).replace(SOURCES, "") };
  const short = nameOf(declaration);
  const text = short === declaration ? "default" : short.text ?? short.getText(file);
  return { path: where, line: place(file, short.getStart(file)).line, name: text };
}

/** Return the row of a use, or undefined if the name is a local variable or a parameter. */
function row(file, node, name, kind, symbol) {
  const start = place(file, node.getStart(file));
  const use = { path: path.relative(root, file.fileName), ...start, name, kind };
  if (!symbol || symbol.escapedName === "unknown") return { ...use, to: "unknown" };
  const found = (symbol.declarations ?? []).filter((declaration) => inside(declaration.getSourceFile().fileName));
  if (found.length === 0) return { ...use, to: null };
  if (found.some((declaration) => nameOf(declaration) === node)) return undefined; // it stands where it is declared
  const targets = found.filter((declaration) => !isLocal(declaration)).map(target);
  if (targets.length === 0) return undefined;
  return targets.length > 1 ? { ...use, to: targets[0], to_any: targets } : { ...use, to: targets[0] };
}

function* references(checker, file) {
  const found = [];
  const visit = (node) => {
    if ((ts.isIdentifier(node) || ts.isPrivateIdentifier(node)) && !isDeclared(node))
      found.push(row(file, node, node.text, kindOf(node), symbolAt(checker, node)));
    else if (ts.isStringLiteral(node) && isModuleName(node)) {
      const name = path.basename(node.text).replace(SOURCES, "");
      found.push(row(file, node, name, "import", checker.getSymbolAtLocation(node)));
    }
    ts.forEachChild(node, visit);
  };
  visit(file);
  yield* found.filter(Boolean);
}

function isModuleName(node) {
  const parent = node.parent;
  return (ts.isImportDeclaration(parent) || ts.isExportDeclaration(parent)) && parent.moduleSpecifier === node;
}

for (const [folder, names] of projects()) {
  const program = ts.createProgram(names, options(folder));
  const checker = program.getTypeChecker();
  for (const name of names) {
    const file = program.getSourceFile(name);
    const rows = file ? [...references(checker, file)].map((one) => JSON.stringify(one) + "\n") : [];
    fs.writeSync(1, rows.join(""));
  }
}
