import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.*;
import java.util.stream.Stream;
import org.eclipse.jdt.core.JavaCore;
import org.eclipse.jdt.core.dom.*;

/**
 * Resolves the names in the Java files of a work tree with the Eclipse compiler and prints JSON lines.
 *
 * <pre>java -cp CLASSPATH_OF_JDT JavaReferences.java TREE [CLASSPATH_OF_TREE] &gt; truth.jsonl</pre>
 */
public class JavaReferences {
    record Definition(String path, int line, String name) {}

    record Use(String path, int line, int column, String name, String kind, String key, boolean fromSource) {}

    private final Path root;
    private final Map<String, Definition> definitions = new HashMap<>();
    private final List<Use> uses = new ArrayList<>();

    JavaReferences(Path root) {
        this.root = root;
    }

    public static void main(String[] arguments) throws IOException {
        var references = new JavaReferences(Path.of(arguments[0]).toRealPath());
        references.read(arguments.length > 1 ? arguments[1].split(":") : new String[0]);
        references.print(new PrintStream(System.out, false, StandardCharsets.UTF_8));
    }

    private void read(String[] classpath) throws IOException {
        var files = files();
        var roots = new TreeSet<String>();
        for (var file : files) {
            sourceRoot(file).ifPresent(roots::add);
        }
        var parser = ASTParser.newParser(AST.getJLSLatest());
        var options = JavaCore.getOptions();
        JavaCore.setComplianceOptions(JavaCore.latestSupportedJavaVersion(), options);
        parser.setCompilerOptions(options);
        parser.setResolveBindings(true);
        parser.setBindingsRecovery(true);
        var encodings = new String[roots.size()];
        Arrays.fill(encodings, "UTF-8");
        parser.setEnvironment(classpath, roots.toArray(String[]::new), encodings, true);
        var names = files.stream().map(Path::toString).toArray(String[]::new);
        var charsets = new String[names.length];
        Arrays.fill(charsets, "UTF-8");
        parser.createASTs(names, charsets, new String[0], new FileASTRequestor() {
            @Override
            public void acceptAST(String name, CompilationUnit unit) {
                var path = root.relativize(Path.of(name)).toString().replace('\\', '/');
                unit.accept(new Declarations(unit, path));
                unit.accept(new Names(unit, path, text(name)));
            }
        }, null);
    }

    private List<Path> files() throws IOException {
        try (Stream<Path> found = Files.walk(root)) {
            return found.filter(file -> file.toString().endsWith(".java") && Files.isRegularFile(file)).sorted().toList();
        }
    }

    /** Returns the folder that the package of a file begins in, if its folders fit its package. */
    private static Optional<String> sourceRoot(Path file) {
        for (var line : text(file.toString()).lines().toList()) {
            if (line.startsWith("package ") && line.contains(";")) {
                var folders = Path.of(line.substring(8, line.indexOf(';')).strip().replace('.', '/'));
                var folder = file.getParent();
                return folder.endsWith(folders)
                    ? Optional.of(folder.getRoot().resolve(folder.subpath(0, folder.getNameCount() - folders.getNameCount())).toString())
                    : Optional.empty();
            }
        }
        return Optional.of(file.getParent().toString());
    }

    private static String text(String name) {
        try {
            return new String(Files.readAllBytes(Path.of(name)), StandardCharsets.UTF_8);
        } catch (IOException error) {
            throw new java.io.UncheckedIOException(error);
        }
    }

    /** Collects the declarations that can be seen from outside of a method. */
    private class Declarations extends ASTVisitor {
        private final CompilationUnit unit;
        private final String path;

        Declarations(CompilationUnit unit, String path) {
            this.unit = unit;
            this.path = path;
        }

        @Override
        public boolean visit(SimpleName name) {
            if (name.isDeclaration() && name.resolveBinding() != null && !isLocal(name.resolveBinding())) {
                var line = unit.getLineNumber(name.getStartPosition());
                definitions.put(name.resolveBinding().getKey(), new Definition(path, line, name.getIdentifier()));
            }
            return true;
        }
    }

    /** Collects the uses of names. */
    private class Names extends ASTVisitor {
        private final CompilationUnit unit;
        private final String path;
        private final String text;

        Names(CompilationUnit unit, String path, String text) {
            this.unit = unit;
            this.path = path;
            this.text = text;
        }

        @Override
        public boolean visit(PackageDeclaration clause) {
            return false;
        }

        @Override
        public boolean visit(ModuleDeclaration module) {
            return false;
        }

        @Override
        public boolean visit(ImportDeclaration clause) {
            if (!clause.isOnDemand()) {
                var name = clause.getName() instanceof QualifiedName longer ? longer.getName() : (SimpleName) clause.getName();
                add(name, "import", clause.resolveBinding());
            }
            return false;
        }

        @Override
        public boolean visit(SimpleName name) {
            // a constructor's name counts as no declaration
            if (!name.isDeclaration() && !(name.getParent() instanceof MethodDeclaration method && method.getName() == name)
                && !(name.getParent() instanceof LabeledStatement) && !(name.getParent() instanceof BreakStatement) && !(name.getParent() instanceof ContinueStatement)) {
                add(name, kind(name), name.resolveBinding());
            }
            return true;
        }

        private void add(SimpleName name, String kind, IBinding binding) {
            if (binding instanceof IPackageBinding || binding != null && isLocal(binding)) {
                return;
            }
            var start = name.getStartPosition();
            var column = text.substring(start - unit.getColumnNumber(start), start);
            var known = binding != null && !binding.isRecovered();
            uses.add(new Use(path, unit.getLineNumber(start), column.codePointCount(0, column.length()),
                name.getIdentifier(), kind, known ? original(binding).getKey() : null, !known || fromSource(binding)));
        }
    }

    private static boolean isLocal(IBinding binding) {
        return binding instanceof IVariableBinding variable && !variable.isField()
            || binding instanceof ITypeBinding type && (type.isTypeVariable() || type.isCapture());
    }

    /** Returns the declaration of a generic type, method or field. */
    private static IBinding original(IBinding binding) {
        if (binding instanceof ITypeBinding type) {
            return type.isArray() ? original(type.getElementType()) : type.getErasure().getTypeDeclaration();
        }
        return binding instanceof IMethodBinding method ? method.getMethodDeclaration()
            : binding instanceof IVariableBinding variable ? variable.getVariableDeclaration() : binding;
    }

    private static boolean fromSource(IBinding binding) {
        var type = binding instanceof ITypeBinding one ? one
            : binding instanceof IMethodBinding method ? method.getDeclaringClass()
            : ((IVariableBinding) binding).getDeclaringClass();
        return type != null && type.isFromSource();
    }

    private static String kind(SimpleName name) {
        ASTNode node = name;
        while (node.getParent() instanceof QualifiedName longer && longer.getName() == node
            || node.getParent() instanceof Type && !(node.getParent() instanceof ParameterizedType list && list.getType() != node)) {
            node = node.getParent();
        }
        var parent = node.getParent();
        var role = node.getLocationInParent();
        if (role == MethodInvocation.NAME_PROPERTY || role == SuperMethodInvocation.NAME_PROPERTY
            || role == ClassInstanceCreation.TYPE_PROPERTY) {
            return "call";
        }
        if (parent instanceof Annotation && role != SingleMemberAnnotation.VALUE_PROPERTY) {
            return "decorates";
        }
        if (parent instanceof AbstractTypeDeclaration) {
            return "inherits";
        }
        return node instanceof Type || name.resolveBinding() instanceof ITypeBinding ? "type" : "other";
    }

    private void print(PrintStream output) {
        for (var use : uses) {
            var found = use.key == null ? null : definitions.get(use.key);
            var to = found != null ? json(found) : use.fromSource ? "\"unknown\"" : "null";
            output.printf("{\"path\": \"%s\", \"line\": %d, \"column\": %d, \"name\": \"%s\", \"kind\": \"%s\", \"to\": %s}%n",
                use.path, use.line, use.column, use.name, use.kind, to);
        }
        output.flush();
    }

    private static String json(Definition one) {
        return String.format("{\"path\": \"%s\", \"line\": %d, \"name\": \"%s\"}", one.path, one.line, one.name);
    }
}
